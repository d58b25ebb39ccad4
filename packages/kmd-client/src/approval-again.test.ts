/** If an approval does not cover every rule that asks now, the payment waits for the next approval. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Address, Transaction } from '@latchkey/algorand'
import { makeDataDir, removeDataDir, startOurs } from './daemons.test.helper.js'
import { Kmd, type NewAgentRules } from './index.js'

const gh = new Uint8Array(32).fill(7)
const network = Buffer.from(gh).toString('base64')
const waitMs = 60_000

const rules: NewAgentRules = {
  networks: [network],
  limits: [{ per: 'day', network, type: 'amount', assetId: 0n, amount: 100_000n }],
  payees: { allow: 'all' },
  ask: { above: [{ network, assetId: 0n, amount: 10_000n }], overLimit: true },
}

async function setUp(t: TestContext) {
  const dataDir = makeDataDir()
  const daemon = await startOurs(dataDir)
  t.after(async () => {
    await daemon.stop()
    removeDataDir(dataDir)
  })
  const kmd = await Kmd.connect({ dataDir })
  const { id: walletId } = await kmd.wallets.create({ name: 'purse', password: '' })
  const address = await (await kmd.unlock({ id: walletId })).generateKey()
  const { token } = await kmd.agents.create({ name: 'shopper', walletId, addresses: [address], rules })
  const agent = await Kmd.asAgent({ dataDir, token })
  t.after(() => {
    agent.close()
    kmd.close()
  })
  const pay = (amount: bigint): Uint8Array => {
    const snd = Address.decode(address)
    return Transaction.encode({ type: 'pay', snd, rcv: snd, amt: amount, fee: 0n, fv: 1n, lv: 1_000n, gh })
  }
  return { kmd, agent, pay }
}

test('the client also waits for the second approval and gets the signature', { timeout: 120_000 }, async (t) => {
  const { kmd, agent, pay } = await setUp(t)
  const shown: string[][] = []
  const onApproval = async (id: string): Promise<void> => {
    const { approvals } = await kmd.approvals.list()
    shown.push(approvals.find((one) => one.id === id)!.rules)
    // Uses up the limit before the first decision.
    if (shown.length === 1) for (let index = 1n; index <= 10n; index++) await agent.sign(pay(10_000n - index))
    await kmd.approvals.approve({ id })
  }
  const deciding: Promise<void>[] = []
  const signed = await agent.sign(pay(90_000n), {
    approvalWaitMs: waitMs,
    onApproval: (id) => void deciding.push(onApproval(id)),
  })
  await Promise.all(deciding)
  assert.ok(signed.length > 0)
  assert.deepEqual(shown, [['ask above 0.01 ALGO'], ['0.1 ALGO/day', 'ask above 0.01 ALGO']])
})

test('a denial of the second approval is final', { timeout: 120_000 }, async (t) => {
  const { kmd, agent, pay } = await setUp(t)
  const asked: string[] = []
  const onApproval = async (id: string): Promise<void> => {
    asked.push(id)
    if (asked.length === 2) return void (await kmd.approvals.deny({ id }))
    for (let index = 1n; index <= 10n; index++) await agent.sign(pay(10_000n - index))
    await kmd.approvals.approve({ id })
  }
  const signing = agent.sign(pay(90_000n), { approvalWaitMs: waitMs, onApproval: (id) => void onApproval(id) })
  await assert.rejects(signing, { code: 'agent_approval_denied' })
  assert.equal(asked.length, 2)
})
