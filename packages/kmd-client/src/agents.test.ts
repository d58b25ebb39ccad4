/** Agents through the client, for their owner and for themselves, on both wires and over both transports. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Address, SignedTransaction, Transaction } from '@latchkey/algorand'
import { Daemon } from '@latchkey/kmd'
import { makeDataDir, readState, removeDataDir, serve, targets } from './daemons.test.helper.js'
import { Kmd, KmdClientError, type NewAgentRules } from './index.js'

const genesisHash = new Uint8Array(32).fill(7)
const network = Buffer.from(genesisHash).toString('base64')
const password = 'secret'
const skipUnix = process.platform === 'win32' ? 'there are no Unix sockets' : false
const skipTable = process.platform === 'linux' ? false : 'only Linux tells the user of a peer'
const rules: NewAgentRules = {
  networks: [network],
  limits: [
    { per: 'day', network, type: 'amount', assetId: 0n, amount: 2_000_000n },
    { per: 'hour', network, type: 'count', count: 5 },
    { per: 'total', network, type: 'amount', assetId: 7n, amount: 2n ** 60n, payee: Address.encode(genesisHash) },
  ],
  payees: { allow: 'all' },
  dollars: [{ network, id: 7n }],
}

function payment(sender: string, amount: bigint): Uint8Array {
  return Transaction.encode({
    ...{ type: 'pay', snd: Address.decode(sender), rcv: new Uint8Array(32).fill(9), amt: amount },
    ...{ fee: 1_000n, fv: 1n, lv: 1_000n, gh: genesisHash },
  })
}

for (const target of targets.filter(({ isOurs }) => isOurs)) {
  test(`agents of ${target.name}`, async (t) => {
    const dataDir = makeDataDir()
    const daemon = await target.start(dataDir)
    t.after(async () => {
      await daemon.stop()
      removeDataDir(dataDir)
    })
    const kmd = await Kmd.connect({ dataDir, ...target.client })
    const { id: walletId } = await kmd.wallets.create({ name: 'purse', password })
    const wallet = await kmd.unlock({ id: walletId, password: () => password })
    const address = await wallet.generateKey()
    assert.deepEqual(await kmd.agents.list(), [])
    const expiresAtMs = Date.now() + 3_600_000
    const options = { name: 'shopper', walletId, addresses: [address], rules, expiresAtMs }
    await assert.rejects(kmd.agents.create({ ...options, password: 'wrong' }), { code: 'wrong_password' })
    const { agent, token } = await kmd.agents.create({ ...options, password })
    const none = { applications: [], optIns: [], maxFeeMicroAlgos: 10_000n, maxValidRounds: 1_000 }
    const ask = { above: [], overLimit: false, unknownPayee: false, otherTypes: false }
    assert.deepEqual(agent, {
      ...{ id: agent.id, name: 'shopper', walletId, walletName: 'purse', addresses: [address], state: 'active' },
      suspendedReason: undefined,
      ...{ createdAtMs: agent.createdAtMs, expiresAtMs, lastUsedAtMs: undefined, isSameUser: false },
      rules: { ...rules, payees: { allow: 'all', deny: [] }, ...none, ask },
    })
    assert.deepEqual(await kmd.agents.list(), [agent])

    const { address: at } = readState(dataDir)
    const self = await Kmd.asAgent({ address: at, token, ...target.client })
    t.after(() => self.close())
    assert.equal((await self.self()).agent.id, agent.id)
    const signed = await self.sign(payment(address, 500_000n), {
      url: 'https://shop.example/',
      description: 'a report',
    })
    assert.equal(Address.encode(SignedTransaction.decode(signed).txn.snd), address)
    const [day, hour] = (await self.self()).budget
    assert.deepEqual([day?.text, day?.used, day?.left], ['2 ALGO/day', 501_000n, 1_499_000n])
    assert.deepEqual([hour?.text, hour?.used, hour?.left], ['5 payments/hour', 1n, 4n])
    assert.ok(day!.resetsAtMs! > Date.now())
    const beyond = payment(address, 1_500_000n)
    await assert.rejects(self.sign(beyond), (error) => {
      assert.ok(error instanceof KmdClientError)
      assert.deepEqual([error.status, error.code], [403, 'agent_limit_exceeded'])
      const { rule, unit, asked, left, resetsAtMs } = error.refusal!
      assert.deepEqual([rule, unit, asked, left], ['2 ALGO/day', 'ALGO', 1_501_000n, 1_499_000n])
      assert.ok(resetsAtMs! > Date.now())
      return true
    })
    const tested = await kmd.agents.test({ agent: 'shopper', transaction: beyond })
    assert.deepEqual([tested.decision, tested.rule, tested.refusal?.left], ['refused', '2 ALGO/day', 1_499_000n])
    const allowed = await self.test(payment(address, 1n))
    assert.deepEqual([allowed.decision, allowed.refusal], ['allowed', undefined])

    const { records, continueFrom } = await self.history({ count: 2 })
    assert.deepEqual(
      records.map(({ event, actor }) => [event, actor.id]),
      [
        ['signature_refused', agent.id],
        ['transaction_signed', agent.id],
      ],
    )
    const { history } = await kmd.agents.show({ agent: agent.id })
    assert.deepEqual([history.slice(0, 2), history.at(-1)?.event], [records, 'agent_created'])
    assert.equal((await self.history({ beforeNumber: continueFrom })).records.length, 1)

    // The rest of the API also recognizes an agent's token.
    const asOwner = await Kmd.connect({ address: at, token, ...target.client })
    const handle = await asOwner.unlock({ name: 'purse' })
    assert.deepEqual(await handle.keys(), [address])
    assert.ok((await handle.signTransaction(payment(address, 1n))).length > 0)
    await assert.rejects(handle.exportKey(address), { code: 'agent_operation_forbidden', status: 403 })
    await assert.rejects(asOwner.agents.list(), { code: 'agent_operation_forbidden' })

    assert.equal((await kmd.agents.pause({ agent: agent.id })).state, 'paused')
    await assert.rejects(self.self(), { code: 'agent_paused', status: 403 })
    assert.equal((await kmd.agents.resume({ agent: agent.id, password })).state, 'active')
    const tighter = { ...rules, limits: [{ ...rules.limits[0]!, amount: 600_000n } as NewAgentRules['limits'][number]] }
    const changed = await kmd.agents.setRules({ agent: agent.id, password, rules: tighter, expiresAtMs: undefined })
    assert.deepEqual([changed.rules.limits.length, changed.expiresAtMs], [1, undefined])
    const rotated = await kmd.agents.rotate({ agent: agent.id, password })
    await assert.rejects(self.self(), { code: 'invalid_token', status: 401 })
    const again = await Kmd.asAgent({ dataDir, token: rotated.token, ...target.client })
    const shown = await kmd.agents.show({ agent: agent.id })
    assert.ok(shown.agent.lastUsedAtMs! > 0)
    assert.equal((await again.self()).budget[0]?.left, shown.budget[0]?.left)
    assert.equal((await kmd.agents.revoke({ agent: agent.id })).state, 'revoked')
    await assert.rejects(again.self(), { code: 'agent_ended', status: 403 })
    kmd.close()
    asOwner.close()
    again.close()
  })
}

test("an agent client needs the agent's token and sends no other", async () => {
  await assert.rejects(Kmd.asAgent({ address: '127.0.0.1:1', token: '' }), { code: 'invalid_argument' })
  await assert.rejects(Kmd.asAgent({ address: '', token: 'lka_x' }), { code: 'invalid_argument' })
})

test('a malformed refusal is ignored', async (t) => {
  const texts = [
    '',
    '{',
    '[]',
    'null',
    '{"code":1}',
    `{"code":"x","rule":"${'r'.repeat(5_000)}"}`,
    '{"code":"a","rule":"b","asked":5}',
  ]
  const server = await serve((_incoming, outgoing) => {
    outgoing.writeHead(403, { 'Latchkey-Refusal': texts.shift()!, 'Latchkey-Approval': 'not an id' })
    outgoing.end('{"error":true,"message":"no"}')
  })
  t.after(() => server.close())
  const agent = await Kmd.asAgent({ address: server.address, token: 'lka_x' })
  t.after(() => agent.close())
  while (texts.length > 0) {
    const isLast = texts.length === 1
    await assert.rejects(agent.self(), (error) => {
      assert.ok(error instanceof KmdClientError)
      const nothing = { unit: undefined, asked: undefined, left: undefined, resetsAtMs: undefined }
      assert.deepEqual(error.refusal, isLast ? { code: 'a', rule: 'b', ...nothing } : undefined)
      assert.equal(error.approvalId, undefined)
      return true
    })
  }
})

test('the daemon serves the owner and an agent on a Unix socket', { skip: skipUnix }, async (t) => {
  const dataDir = makeDataDir()
  const unixSocket = join(dataDir, 'kmd.sock')
  const daemon = await Daemon.start({ dataDir, unixSocket, limits: { stopMs: 100 } })
  t.after(async () => {
    await daemon.stop()
    removeDataDir(dataDir)
  })
  const at = `unix:${unixSocket}`
  const kmd = await Kmd.connect({ address: at, token: readState(dataDir).token })
  assert.equal(kmd.address, at)
  const { id: walletId } = await kmd.wallets.create({ name: 'purse', password: '' })
  const wallet = await kmd.unlock({ id: walletId })
  const address = await wallet.generateKey()
  const { token } = await kmd.agents.create({ name: 'shopper', walletId, addresses: [address], rules })
  const agent = await Kmd.asAgent({ address: at, token })
  assert.ok((await agent.sign(payment(address, 1n))).length > 0)
  // Only the daemon's user can connect to this socket.
  const isSeen = async (): Promise<boolean> => (await kmd.agents.show({ agent: 'shopper' })).agent.isSameUser
  for (const giveUpAt = Date.now() + 20_000; !(await isSeen()) && Date.now() < giveUpAt; ) await agent.self()
  assert.equal(await isSeen(), true)
  assert.deepEqual((await kmd.health()).sameUserAgents, ['shopper'])
  await assert.rejects(kmd.consoleLink(), { code: 'invalid_argument' })
  const byFetch = await Kmd.connect({ address: at, token, fetch: (url, init) => fetch(url, init) })
  await assert.rejects(byFetch.versions(), { code: 'invalid_argument' })
  kmd.close()
  agent.close()
  const gone = await Kmd.asAgent({ address: `unix:${unixSocket}.none`, token })
  await assert.rejects(gone.self(), { code: 'daemon_not_running' })
})

test("an agent that runs as the daemon's user is also noticed on the port", { skip: skipTable }, async (t) => {
  const dataDir = makeDataDir()
  const daemon = await Daemon.start({ dataDir, log: { level: 'warning' }, limits: { stopMs: 100 } })
  t.after(async () => {
    await daemon.stop()
    removeDataDir(dataDir)
  })
  const kmd = await Kmd.connect({ dataDir })
  t.after(() => kmd.close())
  const { id: walletId } = await kmd.wallets.create({ name: 'purse', password: '' })
  const address = await (await kmd.unlock({ id: walletId })).generateKey()
  const { token, agent } = await kmd.agents.create({ name: 'shopper', walletId, addresses: [address], rules })
  assert.deepEqual((await kmd.health()).sameUserAgents, [])
  const self = await Kmd.asAgent({ dataDir, token })
  t.after(() => self.close())
  const isSeen = async (): Promise<boolean> => (await self.self()).agent.isSameUser
  for (const giveUpAt = Date.now() + 20_000; !(await isSeen()) && Date.now() < giveUpAt; ) await self.self()
  assert.deepEqual((await kmd.health()).sameUserAgents, ['shopper'])
  const lines = (): number =>
    readFileSync(join(dataDir, 'kmd.log'), 'utf8').split(`agent ${agent.id} runs as the daemon's user`).length - 1
  for (const giveUpAt = Date.now() + 20_000; lines() === 0 && Date.now() < giveUpAt; ) await self.self()
  assert.equal(lines(), 1, 'once, however often it is used')
})
