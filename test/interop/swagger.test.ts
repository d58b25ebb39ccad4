/**
 * Checks that /swagger.json on both wires is valid OpenAPI 2 and accurate. The document describes exactly what is
 * served, and real requests and responses have exactly the described members and types.
 */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import SwaggerParser from '@apidevtools/swagger-parser'
import { Address, Network, SignedTransaction, Transaction } from '@latchkey/algorand'
import { Devnet } from '@latchkey/devnet'
import { type Json, startDaemon, type TestDaemon, type TestResponse } from '../support/daemon.test.helper.js'
import { operations } from '../support/operations.test.helper.js'
import { type Step, takeTour } from '../support/tour.test.helper.js'

type Described = { id: string; method: string; path: string; json: Json }

for (const wire of ['reference', 'documented'] as const) {
  suite(`${wire} wire`, () => {
    let daemon: TestDaemon
    let node: Devnet
    let document: Json
    let described: Described[]
    let steps: Step[]

    before(async () => {
      node = await Devnet.start({ port: 0 })
      daemon = await startDaemon({ args: ['--wire', wire], config: { algod: { url: node.url } } })
      document = (await daemon.call('GET', '/swagger.json')).json
      described = describedOperations(document)
      const form = wire === 'documented' ? 'integers' : 'base64'
      steps = [...(await takeTour(daemon, form, wire)).steps, ...(await callExtras(daemon))]
    })
    after(async () => {
      await daemon?.stop()
      await node?.stop()
    })

    test('is valid OpenAPI 2', async () => {
      assert.equal(document.swagger, '2.0')
      // The validator resolves references in place, so it gets a copy.
      const api = await SwaggerParser.validate(structuredClone(document), { resolve: { external: false } })
      assert.equal(Object.keys(api.paths!).length, Object.keys(document.paths).length)
      const ids = described.map(({ id }) => id)
      assert.equal(new Set(ids).size, ids.length, 'operation ids are distinct')
    })

    test('the validator rejects an invalid document', async () => {
      const broken = structuredClone(document)
      broken.paths['/v1/wallet'].post.responses = {}
      await assert.rejects(SwaggerParser.validate(broken, { resolve: { external: false } }))
    })

    test('has the 23 operations of the documentation, with their fields', () => {
      for (const { id, method, path, request, response } of operations) {
        const found = described.find((candidate) => candidate.id === id)
        assert.ok(found, `${id} is described`)
        assert.deepEqual([found.method, found.path], [method, path])
        // Newer reference daemons have one more field than the documentation.
        const more = id === 'SignMultisigProgram' ? ['use_legacy_msig'] : []
        const requestNames = Object.keys(requestSchema(document, found)?.properties ?? {})
        assert.deepEqual(requestNames.sort(), [...Object.keys(request ?? {}), ...more].sort(), `request of ${id}`)
        if (id === 'SwaggerHandler') continue
        const responseNames = Object.keys(responseSchema(document, found, '200').properties)
        assert.deepEqual(responseNames.sort(), ['error', 'message', ...Object.keys(response)].sort(), id)
      }
    })

    test('every described operation is served', async () => {
      for (const { id, method, path } of described) {
        const { status, headers } = await daemon.call(method, path, method === 'GET' ? undefined : {})
        // An agent that does not exist also gives 404.
        const isServed = headers['latchkey-error'] !== 'not_found' && status !== 405
        assert.ok(isServed, `${id} answered ${status}`)
      }
    })

    test('without the token, only open operations respond', async () => {
      assert.deepEqual(document.security, [{ api_key: [] }])
      const open: string[] = []
      for (const { id, method, path, json } of described) {
        const { status } = await daemon.call(method, path, method === 'GET' ? undefined : {}, { token: null })
        if (status === 200) open.push(id)
        // This operation requires a ticket in its body instead, which is missing here.
        const isOpen = json.security?.length === 0 && id !== 'OpenConsole'
        assert.equal(status, isOpen ? 200 : 401, id)
      }
      assert.deepEqual(open.sort(), wire === 'reference' ? ['GetVersion', 'SwaggerHandler'] : [])
    })

    test('every served operation is described', async () => {
      const paths = [
        ...new Set([...described.map(({ path }) => path), ...operations.map(({ path }) => path)]),
        ...['/', '/v1', '/latchkey', '/latchkey/v1', '/metrics', '/health', '/healthz', '/ready', '/status', '/debug'],
      ]
      const known = new Set(described.map(({ method, path }) => `${method} ${path}`))
      for (const path of paths) {
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'TRACE']) {
          // HEAD is GET without a body, and such a document does not list it.
          if (known.has(`${method === 'HEAD' ? 'GET' : method} ${path}`)) continue
          const { status } = await daemon.call(method, path, method === 'HEAD' ? undefined : {})
          assert.ok(status === 404 || status === 405, `${method} ${path} answered ${status}`)
        }
      }
    })

    test('each operation was called successfully', () => {
      const called = new Set(steps.filter(({ answer }) => answer.status === 200).map(({ id }) => id))
      assert.deepEqual([...called].sort(), described.map(({ id }) => id).sort())
    })

    test('requests match the description', () => {
      let checked = 0
      for (const { id, body } of steps) {
        const schema = requestSchema(document, described.find((candidate) => candidate.id === id)!)
        if (schema === undefined) continue
        assertSchema(document, schema, body, `request of ${id}`)
        checked++
      }
      assert.ok(checked > 20)
    })

    test('responses match the description', () => {
      for (const { id, answer } of steps) {
        const operation = described.find((candidate) => candidate.id === id)!
        const [type] = operation.json.produces ?? document.produces
        assert.equal(answer.headers['content-type']?.split(';')[0], type, id)
        const schema = responseSchema(document, operation, '200')
        // A response that is a whole document or text is checked as such.
        assertSchema(document, schema, schema.type === 'string' ? answer.text : answer.json, id)
      }
    })

    test('failures match the description', async () => {
      for (const operation of described) {
        const { id, method, path } = operation
        const answer = await daemon.call(method, path, '{"no_such_field":1}', { token: 'b'.repeat(64) })
        if (answer.status === 200) continue
        assert.equal(answer.headers['content-type'], 'application/json', id)
        const schema = responseSchema(document, operation, 'default')
        if (schema !== undefined) assertSchema(document, schema, answer.json, id)
      }
    })
  })
}

test('the schema checker refuses', () => {
  const schema = {
    type: 'object',
    properties: {
      key: { type: 'array', items: { type: 'integer', format: 'uint8' } },
      text: { type: 'string', format: 'byte' },
    },
  }
  const check = (value: Json) => () => assertSchema({}, schema, value, 'it')
  assert.doesNotThrow(check({ key: [0, 255], text: 'AA==' }))
  for (const wrong of [{ other: 1 }, { key: [256] }, { key: ['1'] }, { key: 'AA==' }, { text: 'A' }, [], null]) {
    assert.throws(check(wrong), assert.AssertionError, JSON.stringify(wrong))
  }
})

/** Calls the operations that only Latchkey has. */
async function callExtras(daemon: TestDaemon): Promise<Step[]> {
  const steps: Step[] = []
  const call = async (id: string, method: string, path: string, body?: Json): Promise<TestResponse> => {
    const answer = await daemon.call(method, path, body)
    assert.equal(answer.status, 200, answer.text)
    steps.push({ id, body, answer })
    return answer
  }
  await call('GetHealth', 'GET', '/latchkey/v1/health')
  await call('GetMetrics', 'GET', '/latchkey/v1/metrics')
  const created = await daemon.call('POST', '/v1/wallet', { wallet_driver_name: 'sqlite', wallet_password: 'old' })
  const wallet = { wallet_id: created.json.wallet.id, wallet_password: 'old' }
  await call('ChangeWalletPassword', 'POST', '/latchkey/v1/wallet/password', { ...wallet, new_wallet_password: 'new' })
  const password = { wallet_password: 'new' }
  const { wallet_handle_token } = (await daemon.call('POST', '/v1/wallet/init', { ...wallet, ...password })).json
  const { address } = (await daemon.call('POST', '/v1/key', { wallet_handle_token })).json
  await call('SignReceipt', 'POST', '/latchkey/v1/receipt/sign', {
    wallet_handle_token,
    ...password,
    address,
    network: Network.testnet.caip2,
    resource_url: 'https://shop.example/weather',
    payer: address,
    transaction_id: 'A'.repeat(52),
  })
  await call('SignOffer', 'POST', '/latchkey/v1/offer/sign', {
    wallet_handle_token,
    ...password,
    address,
    resource_url: 'https://shop.example/weather',
    scheme: 'exact',
    network: Network.testnet.caip2,
    asset: '0',
    pay_to: address,
    amount: '10000',
    valid_until: 2_000_000_000,
  })
  await call('DeleteWallet', 'POST', '/latchkey/v1/wallet/delete', { ...wallet, ...password })
  const link = await call('CreateConsoleLink', 'POST', '/latchkey/v1/console/link', {})
  const ticket: string = link.json.path.split('#')[1]
  const session = await call('OpenConsole', 'POST', '/latchkey/v1/console/session', { ticket })
  await backUp(daemon, session.json.session_token, call)
  await call('CloseConsole', 'POST', '/latchkey/v1/console/close', {})
  await call('GetNode', 'GET', '/latchkey/v1/node')
  const listed = await call('GetSignings', 'POST', '/latchkey/v1/signings', { after: 0 })
  const { sender, transaction_id } = listed.json.signings[0]
  await call('SetContact', 'POST', '/latchkey/v1/contact', { address: sender, label: 'mine' })
  await call('ListContacts', 'GET', '/latchkey/v1/contacts')
  await call('DeleteContact', 'DELETE', '/latchkey/v1/contact', { address: sender })
  await call('GetAccounts', 'POST', '/latchkey/v1/accounts', { addresses: [sender] })
  await call('FindTransactions', 'POST', '/latchkey/v1/transactions', { transaction_ids: [transaction_id] })
  const payment = { type: 'pay', snd: Address.decode(sender) }
  const transaction = Transaction.encode(payment)
  await call('DescribeTransaction', 'POST', '/latchkey/v1/transaction/describe', {
    transaction: Buffer.from(transaction).toString('base64'),
  })
  const signed = SignedTransaction.encode({ txn: payment, sig: new Uint8Array(64).fill(1) })
  const [unsignedText, signedText] = [transaction, signed].map((bytes) => Buffer.from(bytes).toString('base64'))
  await call('GetTransactionParameters', 'GET', '/latchkey/v1/transaction/parameters')
  await call('SimulateTransaction', 'POST', '/latchkey/v1/transaction/simulate', { transaction: unsignedText })
  await call('SubmitTransaction', 'POST', '/latchkey/v1/transaction/submit', { transaction: signedText })
  const validity = { first_valid: 1, last_valid: 1000 }
  await call('GetTransactionOutcome', 'POST', '/latchkey/v1/transaction/outcome', { transaction_id, ...validity })
  const asset_id = '31566704'
  await call('GetAssets', 'POST', '/latchkey/v1/assets', { asset_ids: [asset_id] })
  await call('GetHoldings', 'POST', '/latchkey/v1/holdings', { asset_id, addresses: [sender] })
  const gift = { micro_algos: '1000000', asset_id, amount: '5' }
  await call('FundAccount', 'POST', '/latchkey/v1/devnet/fund', { address: sender, ...gift })
  return [...steps, ...(await callAgents(daemon))]
}

/** Calls the operations on agents, and those of an agent. */
async function callAgents(daemon: TestDaemon): Promise<Step[]> {
  const steps: Step[] = []
  const callWith = (token: string) => async (id: string, method: string, path: string, body?: Json) => {
    const answer = await daemon.call(method, `/latchkey/v1/${path}`, body, { token })
    assert.equal(answer.status, 200, answer.text)
    steps.push({ id, body, answer })
    return answer
  }
  const call = callWith(daemon.token)
  const created = await daemon.call('POST', '/v1/wallet', { wallet_driver_name: 'sqlite' })
  const wallet_id: string = created.json.wallet.id
  const { wallet_handle_token } = (await daemon.call('POST', '/v1/wallet/init', { wallet_id, wallet_password: '' }))
    .json
  const { address } = (await daemon.call('POST', '/v1/key', { wallet_handle_token })).json
  const gh = new Uint8Array(32).fill(7)
  const network = Buffer.from(gh).toString('base64')
  const limit = { per: 'day', network, type: 'amount', asset_id: '0', amount: '5000000' }
  const rules = { networks: [network], limits: [limit, { ...limit, asset_id: '5' }], payees: { allow_all: true } }
  const made = await call('CreateAgent', 'POST', 'agents', {
    name: 'described',
    wallet_id,
    addresses: [address],
    rules,
  })
  const agent = { agent: 'described' }
  const snd = Address.decode(address)
  const payment = Transaction.encode({ type: 'pay', snd, rcv: snd, amt: 1n, fee: 1000n, fv: 1n, lv: 9n, gh })
  const transaction = Buffer.from(payment).toString('base64')
  const own = callWith(made.json.token)
  await own('GetOwnAgent', 'GET', 'agent')
  await own('TestOwnAgent', 'POST', 'agent/test', { transaction })
  await own('SignAsAgent', 'POST', 'agent/sign', { transaction })
  const [pay_to, facilitator] = [2, 3].map((byte) => Address.encode(new Uint8Array(32).fill(byte)))
  const amounts = { asset_id: '5', max_amount: '1', last_valid: '9' }
  const nonce = Buffer.alloc(16, 1).toString('base64')
  await own('SignUptoAsAgent', 'POST', 'agent/upto', {
    payer: address,
    pay_to,
    facilitator,
    network,
    nonce,
    ...amounts,
  })
  await own('ListOwnRecords', 'POST', 'agent/history', {})
  const asks = { ...rules, ask: { above: [{ network, amount: '1' }] } }
  await call('SetAgentRules', 'POST', 'agents/rules', { ...agent, rules: asks })
  const ask = async (amt: bigint): Promise<string> => {
    const large = Transaction.encode({ type: 'pay', snd, rcv: snd, amt, fee: 1000n, fv: 1n, lv: 9n, gh })
    const body = { transaction: Buffer.from(large).toString('base64') }
    const answer = await daemon.call('POST', '/latchkey/v1/agent/sign', body, { token: made.json.token })
    assert.equal(answer.status, 202, answer.text)
    return answer.json.approval.id
  }
  const [approved, denied] = [await ask(10n), await ask(11n)]
  await call('ListApprovals', 'POST', 'approvals/list', {})
  await call('WatchApprovals', 'POST', 'approvals/watch', { revision: '', wait_seconds: 0 })
  await call('ApprovePayment', 'POST', 'approvals/approve', { approval_id: approved })
  await call('DenyPayment', 'POST', 'approvals/deny', { approval_id: denied })
  await own('WaitForApproval', 'POST', 'agent/approval', { approval_id: approved, wait_seconds: 1 })
  await call('ListAgents', 'GET', 'agents')
  await call('ShowAgent', 'POST', 'agents/show', agent)
  await call('TestAgent', 'POST', 'agents/test', { ...agent, transaction })
  await call('SetAgentRules', 'POST', 'agents/rules', { ...agent, rules })
  await call('PauseAgent', 'POST', 'agents/pause', agent)
  await call('ResumeAgent', 'POST', 'agents/resume', agent)
  await call('ConfirmAgents', 'POST', 'agents/confirm', { wallet_id })
  await call('RotateAgentToken', 'POST', 'agents/rotate', agent)
  await call('RevokeAgent', 'POST', 'agents/revoke', agent)
  await call('SearchAudit', 'POST', 'audit/search', { count: 5 })
  await call('VerifyAudit', 'POST', 'audit/verify', {})
  const { note } = (await call('PrepareAnchor', 'POST', 'audit/anchor', {})).json
  const anchored = { note, transaction_id: 'A'.repeat(52), address, network, round: 1 }
  await call('RecordAnchor', 'POST', 'audit/anchored', anchored)
  return steps
}

type Call = (id: string, method: string, path: string, body?: Json) => Promise<TestResponse>

/** A wallet can be backed up only in the console session that created it. */
async function backUp(daemon: TestDaemon, token: string, call: Call): Promise<void> {
  const body = { wallet_driver_name: 'sqlite', wallet_name: 'from the console' }
  const created = await daemon.call('POST', '/v1/wallet', body, { token })
  const wallet = { wallet_id: created.json.wallet.id }
  const opened = await daemon.call('POST', '/v1/wallet/init', { ...wallet, wallet_password: '' })
  const handle = { wallet_handle_token: opened.json.wallet_handle_token }
  await call('ListPendingBackups', 'GET', '/latchkey/v1/wallet/backups')
  await call('BackUpWallet', 'POST', '/latchkey/v1/wallet/backup', { ...handle, wallet_password: '' })
  await call('FinishWalletBackup', 'POST', '/latchkey/v1/wallet/backup/finish', wallet)
}

function describedOperations(document: Json): Described[] {
  return Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, json]) => ({
      id: json.operationId,
      method: method.toUpperCase(),
      path,
      json,
    })),
  )
}

function requestSchema(document: Json, { json }: Described): Json {
  const body = json.parameters?.find((parameter: Json) => parameter.in === 'body')
  return body === undefined ? undefined : resolve(document, body.schema)
}

function responseSchema(document: Json, { json }: Described, status: string): Json {
  const { schema } = json.responses[status]
  return schema === undefined ? undefined : resolve(document, schema)
}

function resolve(document: Json, schema: Json): Json {
  if (schema.$ref === undefined) return schema
  assert.deepEqual(Object.keys(schema), ['$ref'], 'a reference stands alone')
  const name = schema.$ref.replace('#/definitions/', '')
  assert.ok(document.definitions[name], `${name} is defined`)
  return document.definitions[name]
}

const limits: { [format: string]: number } = { uint8: 0xff, uint32: 0xffffffff, int64: Number.MAX_SAFE_INTEGER }

/** Stricter than the standard, which allows undescribed members. Supports only the features that our documents use. */
function assertSchema(document: Json, unresolved: Json, value: Json, where: string): void {
  const { type, format, items, properties, description: _, ...unknown } = resolve(document, unresolved)
  assert.deepEqual(unknown, {}, `${where}: the checker knows every keyword`)
  switch (type) {
    case 'object':
      assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value), `${where} is an object`)
      for (const [name, member] of Object.entries(value)) {
        assert.ok(Object.hasOwn(properties, name), `${where}.${name} is described`)
        assertSchema(document, properties[name], member, `${where}.${name}`)
      }
      return
    case 'array':
      assert.ok(Array.isArray(value), `${where} is a list`)
      for (const [index, element] of value.entries()) assertSchema(document, items, element, `${where}[${index}]`)
      return
    case 'integer':
      assert.ok(Object.hasOwn(limits, format), `${where} has a known format: ${format}`)
      assert.ok(Number.isInteger(value) && value >= 0 && value <= limits[format]!, `${where} is of format ${format}`)
      return
    case 'boolean':
    case 'string':
      assert.equal(typeof value, type, where)
      if (format === undefined) return
      assert.equal(format, 'byte', where)
      assert.equal(Buffer.from(value, 'base64').toString('base64'), value, `${where} is base64`)
      return
    default:
      assert.fail(`${where} has the type ${type}`)
  }
}
