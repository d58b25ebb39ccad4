import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Msgpack, Submission } from '@latchkey/algorand'
import { dropConnection } from '@latchkey/http'
import algosdk from 'algosdk'
import fc from 'fast-check'
import { anyCharacter } from '../../../../test/anyCharacter.mjs'
import { personOf, sign, signGroup, simulateBody, TestNode, unsigned } from '../testing/TestNode.test.helper.js'
import '../../../../test/seed.mjs'

const numRuns = Number(process.env['LATCHKEY_FUZZ'] ?? 4_000)
const someone = personOf(91)

const nonsense = fc.oneof(
  fc.constantFrom(
    '',
    '.',
    '..',
    '%',
    '%00',
    '%ff',
    '%2F',
    '%E2%80%A8',
    '?',
    '#',
    '-1',
    '1e3',
    '0x10',
    'null',
    'é',
    '\u0000',
    ' ',
  ),
  fc.string({ maxLength: 12 }),
  fc.string({ unit: anyCharacter, maxLength: 6 }).map((text) => text.replaceAll(/[\ud800-\udfff]/g, '?')),
  fc.nat(3).map((power) => 'A'.repeat(10 ** (power + 1))),
)
const number = fc.constantFrom(
  '0',
  '1',
  '2',
  '7',
  '1001',
  '10458941',
  '9007199254740993',
  '18446744073709551615',
  '18446744073709551616',
)
const parameter = fc.oneof(
  number,
  fc.constantFrom(someone.address, new TestNode().dispenser.address, 'A'.repeat(52), 'A'.repeat(58)),
  nonsense,
)
const templates = [
  '/health',
  '/ready',
  '/metrics',
  '/versions',
  '/genesis',
  '/v2/status',
  '/v2/status/wait-for-block-after/{}',
  '/v2/transactions/params',
  '/v2/ledger/supply',
  '/v2/devmode/blocks/offset',
  '/v2/devmode/blocks/offset/{}',
  '/v2/transactions',
  '/v2/transactions',
  '/v2/transactions/pending',
  '/v2/transactions/pending/{}',
  '/v2/transactions/simulate',
  '/v2/transactions/simulate',
  '/v2/accounts/{}',
  '/v2/accounts/{}/assets',
  '/v2/accounts/{}/assets/{}',
  '/v2/accounts/{}/transactions/pending',
  '/v2/accounts/{}/applications/{}',
  '/v2/assets/{}',
  '/v2/blocks/{}',
  '/v2/blocks/{}/hash',
  '/v2/blocks/{}/txids',
  '/v2/blocks/{}/logs',
  '/v2/blocks/{}/lightheader/proof',
  '/v2/blocks/{}/transactions/{}/proof',
  '/v2/accounts/{}/applications',
  '/v2/deltas/{}',
  '/v2/deltas/{}/txn/group',
  '/v2/deltas/txn/group/{}',
  '/v2/stateproofs/{}',
  '/v2/applications/{}',
  '/v2/teal/compile',
  '/devnet',
  '/devnet/state',
  '/devnet/fund',
  '/devnet/opt-in',
  '/devnet/time',
  '/devnet/snapshot',
  '/devnet/revert',
  '/devnet/reset',
  '/devnet/faults',
  '/devnet/load',
  '/devnet/mine',
  '/devnet/dump',
  '/{}',
  '/{}/{}',
  '/v2/{}',
] as const

const path = fc
  .tuple(
    fc.constantFrom(...templates),
    fc.array(parameter, { minLength: 2, maxLength: 2 }),
    fc.constantFrom('', '', '', '/', '//'),
  )
  .map(([template, parameters, end]) => {
    let next = 0
    return template.replaceAll('{}', () => parameters[next++]!) + end
  })
const query = fc
  .array(
    fc.tuple(
      fc.oneof(
        fc.constantFrom('format', 'Format', 'exclude', 'limit', 'next', 'max', 'header-only', 'skip-pq-address-check'),
        nonsense,
      ),
      fc.oneof(
        fc.constantFrom('json', 'msgpack', 'MSGP', 'all', 'none', 'created-assets-params', 'true', 'F'),
        number,
        nonsense,
      ),
    ),
    { maxLength: 3 },
  )
  .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${name}=${value}`).join('&')}`))

const edits = fc.array(fc.record({ at: fc.nat(), remove: fc.nat(4), insert: fc.uint8Array({ maxLength: 4 }) }), {
  maxLength: 3,
})
type Edits = readonly { at: number; remove: number; insert: Uint8Array }[]

const cheat = fc.dictionary(
  fc.constantFrom(
    'address',
    'algos',
    'microAlgos',
    'dollars',
    'assetId',
    'amount',
    'timestamp',
    'advanceSeconds',
    'snapshot',
    'type',
    'ms',
    'count',
    'status',
    'message',
  ),
  fc.oneof(
    fc.constantFrom<unknown>(
      someone.address,
      1,
      '0.5',
      10_458_941,
      1001,
      '18446744073709551615',
      -1,
      1e300,
      0.1,
      true,
      null,
      [],
      {},
    ),
    fc.constantFrom('delay', 'drop', 'fail', 'hold', 'lose'),
    fc.jsonValue({ maxDepth: 2 }),
  ),
  { maxKeys: 4 },
)

const body = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('bytes' as const), bytes: fc.uint8Array({ maxLength: 60 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('json' as const), value: fc.oneof(cheat, fc.jsonValue()) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('pay', 'group', 'unsigned', 'asset', 'simulate', 'simulatePacked') }),
  },
)
type Body = typeof body extends fc.Arbitrary<infer T> ? T : never

/** Arbitrary requests. */
const wild = fc.record({
  method: fc.constantFrom('GET', 'GET', 'POST', 'POST', 'DELETE', 'PUT', 'HEAD', 'OPTIONS', 'BREW', ''),
  path,
  query,
  body,
  edits: fc.oneof(fc.constant([]), edits),
  headers: fc.record(
    {
      origin: fc.constantFrom('https://page.example', 'http://localhost:3000', 'null', ''),
      host: fc.constantFrom('localhost:4001', 'evil.example', '[::1]:4001', ''),
      authorization: fc.constantFrom('Bearer x', 'Basic', ''),
    },
    { requiredKeys: [] },
  ),
})

const small = fc.nat(3)
const fault = fc.record({ type: fc.constantFrom('delay', 'drop', 'fail', 'hold', 'lose'), ms: small })
const fund = fc.record(
  { address: fc.constant(someone.address), algos: small, dollars: small, microAlgos: fc.constant('100000') },
  { requiredKeys: ['address'] },
)
const cheats: fc.Arbitrary<[string, unknown]> = fc.oneof(
  fund.map((value): [string, unknown] => ['fund', value]),
  small.map((id): [string, unknown] => ['opt-in', { address: someone.address, assetId: 1001 + id }]),
  small.map((rounds): [string, unknown] => ['mine', { rounds: rounds + 1 }]),
  small.map((advanceSeconds): [string, unknown] => ['time', { advanceSeconds }]),
  small.map((snapshot): [string, unknown] => ['revert', { snapshot }]),
  fault.map((value): [string, unknown] => ['faults', value]),
  fc.constantFrom<[string, unknown]>(['snapshot', {}], ['snapshot', {}], ['reset', {}]),
)

/** Valid and nearly valid requests. */
const aimed = fc
  .oneof(
    fc.constantFrom('pay', 'pay', 'group', 'asset', 'unsigned').map((kind) => ['/v2/transactions', { kind }] as const),
    fc
      .constantFrom('simulate', 'simulatePacked', 'pay')
      .map((kind) => ['/v2/transactions/simulate', { kind }] as const),
    cheats.map(([name, value]) => [`/devnet/${name}`, { kind: 'json' as const, value }] as const),
  )
  .chain(([path, body]) =>
    fc.record({
      method: fc.constant('POST'),
      path: fc.constant(path),
      query: fc.constantFrom('', '?format=msgpack'),
      body: fc.constant(body as Body),
      edits: fc.oneof(fc.constant([]), edits),
      headers: fc.constant({}),
    }),
  )

const request = fc.oneof(wild, aimed)

function bytesOf(node: TestNode, body: Body): Uint8Array {
  const person = node.funded(0)
  const txn = () => node.pay(person, someone, 200_000n)
  switch (body.kind) {
    case 'bytes':
      return body.bytes
    case 'json':
      return Buffer.from(JSON.stringify(body.value))
    case 'pay':
      return sign(txn(), person)
    case 'unsigned':
      return unsigned(txn())
    case 'asset':
      return sign(node.txn('acfg', person, { apar: { t: 7n, an: 'Name', am: new Uint8Array(32).fill(1) } }), person)
    case 'group':
      return Buffer.concat(
        signGroup([
          [txn(), person],
          [txn(), person],
        ]),
      )
    case 'simulatePacked': {
      const txns = [algosdk.msgpackRawDecode(unsigned(txn()))]
      return algosdk.msgpackRawEncode({ 'txn-groups': [{ txns }], 'allow-empty-signatures': true, 'fix-signers': true })
    }
    default:
      return simulateBody([sign(txn(), person)], { 'allow-more-logging': true, 'exec-trace-config': { enable: true } })
  }
}

function edited(bytes: Uint8Array, edits: Edits): Uint8Array {
  let result = Buffer.from(bytes)
  for (const { at, remove, insert } of edits) {
    const start = result.length === 0 ? 0 : at % result.length
    result = Buffer.concat([result.subarray(0, start), insert, result.subarray(start + remove)])
  }
  return result
}

const refusals = [400, 401, 403, 404, 405, 413, 501]
/** Requests that a node answers with an internal error, which we reproduce. */
const outOfReach =
  /ledger does not have entry|failed to retrieve information from the ledger|given round is greater than the latest/

function checkBody(type: string | undefined, bytes: Uint8Array, status: number): void {
  if (type === 'application/msgpack') {
    const reader = new Msgpack.Reader(bytes)
    reader.skip()
    assert.equal(reader.remaining, 0)
  } else if (type === 'application/json') {
    const value = JSON.parse(Buffer.from(bytes).toString('utf8'))
    if (status >= 400) assert.equal(typeof value.message, 'string')
  }
}

test('every request gets a documented status and never an internal error', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const node = new TestNode()
  await fc.assert(
    fc.asyncProperty(request, async ({ method, path, query, body, edits, headers }) => {
      const faults = node.node.faults.list()
      const wanted = faults.find(({ type }) => type === 'fail')
      const mayHangUp = faults.some(({ type }) => type === 'drop')
      let isOver = false
      const call = node
        .call(method, path + query, {
          body: edited(bytesOf(node, body), edits),
          headers: headers as { [name: string]: string },
        })
        .finally(() => {
          isOver = true
        })
      for (let turns = 0; turns < 5 && !isOver; turns++) await new Promise((resolve) => setImmediate(resolve))
      // A wait for a block and an injected delay take at most ten minutes.
      if (!isOver) t.mock.timers.tick(600_000)
      const response = await call
      assert.deepEqual(node.errors, [])
      if (response === dropConnection) return assert.ok(mayHangUp)
      const { status, header, bytes } = response
      const isAskedFor = wanted?.type === 'fail' && status === wanted.status
      const isOutOfReach = status === 500 && outOfReach.test(response.text)
      if (status >= 300 && !isAskedFor && !isOutOfReach)
        assert.ok(refusals.includes(status), `${status} ${response.text}`)
      checkBody(header('content-type'), bytes, status)
    }),
    { numRuns },
  )
  // The supply is unchanged, and the devnet still works.
  const total = [...node.ledger.state.allAccounts().values()].reduce((sum, { microAlgos }) => sum + microAlgos, 0n)
  assert.equal(total, 15_000_000_000_200_000n)
  node.node.faults.clear()
  const before = node.ledger.last.round
  const signed = sign(node.pay(node.funded(1), node.funded(1), 1n), node.funded(1))
  assert.equal(Submission.decodeFirst(signed).end, signed.length)
  await node.send(signed)
  assert.equal(node.ledger.last.round, before + 1n)
})
