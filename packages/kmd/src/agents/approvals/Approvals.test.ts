import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Address, Transaction } from '@latchkey/algorand'
import { AuditLog, auditSchema } from '../../audit/AuditLog.js'
import { StateDatabase } from '../../state/StateDatabase.js'
import type { Agent, AgentRefusal } from '../Agent.js'
import type { Approval } from './Approval.js'
import { Approvals } from './Approvals.js'
import { approvalSchema, approvalValiditySchema } from './approvalRow.js'

const refusal: AgentRefusal = {
  code: 'agent_approval_required',
  rule: 'ask above $0.25',
  unit: 'USDC',
  asked: 300_000n,
  left: 250_000n,
  resetsAtMs: undefined,
  message: 'the owner is asked above $0.25',
}
const agent = { id: 'agent-1', name: 'shopper' } as Agent
const owner = { type: 'owner' } as const

function payment(amount: number): { transaction: Uint8Array; transactionId: string } {
  const key = new Uint8Array(32).fill(7)
  const transaction = Transaction.encode({
    type: 'pay',
    snd: key,
    rcv: new Uint8Array(32).fill(9),
    amt: BigInt(amount),
    fee: 1000n,
    fv: 10n,
    lv: 19n,
    gh: new Uint8Array(32).fill(1),
  })
  return { transaction, transactionId: Transaction.id(transaction) }
}

const dayMs = 24 * 3_600_000
const genesisHash = Buffer.alloc(32, 1).toString('base64')
const otherHash = Buffer.alloc(32, 2).toString('base64')

type Setup = {
  approvals: Approvals
  request: (amount: number, by?: Agent) => Promise<Approval>
  events: () => string[]
  /** The details of the recorded events. */
  details: () => { [member: string]: unknown }[]
  change: StateDatabase['change']
  /** The events recorded for the agent. */
  history: () => string[]
  clock: { ms: number }
  changes: Approval[]
  reopen: () => Approvals
}

function setUp(t: TestContext): Setup {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-approvals-'))
  const clock = { ms: 1_000_000 }
  const database = new StateDatabase({
    file: join(directory, 'state.db'),
    migrations: [auditSchema + approvalSchema, approvalValiditySchema],
  })
  const audit = new AuditLog({ database, now: () => clock.ms })
  const changes: Approval[] = []
  const open = (): Approvals =>
    new Approvals({ database, audit, now: () => clock.ms, onChange: (approval) => void changes.push(approval) })
  const approvals = open()
  t.after(async () => {
    approvals.close()
    await database.close()
    rmSync(directory, { recursive: true })
  })
  const request = (amount: number, by = agent): Promise<Approval> =>
    database.change(() => approvals.request({ agent: by, ...payment(amount), refusals: [refusal], claim: {} }))
  type Recorded = { event: string; detail: { [member: string]: unknown } }
  const recorded = (): Recorded[] =>
    database
      .statement('SELECT record FROM audit ORDER BY number')
      .all()
      .map((row) => JSON.parse((row as { record: string }).record) as Recorded)
  const events = (): string[] => recorded().map(({ event }) => event)
  const details = (): Recorded['detail'][] => recorded().map(({ detail }) => detail)
  const history = (): string[] =>
    database
      .statement('SELECT record FROM audit WHERE agent = ? ORDER BY number')
      .all(agent.id)
      .map((row) => (JSON.parse((row as { record: string }).record) as { event: string }).event)
  const change: Setup['change'] = (make) => database.change(make)
  return { approvals, request, events, details, change, history, clock, changes, reopen: open }
}

test('an approval is requested once per transaction, approved once, then used', async (t) => {
  const { approvals, request, events, reopen } = setUp(t)
  const first = await request(1)
  assert.match(first.id, /^[a-z2-7]{16}$/)
  assert.equal((await request(1)).id, first.id)
  assert.notEqual((await request(2)).id, first.id)
  assert.equal((await approvals.approve(first.id, owner)).state, 'approved')
  assert.equal(approvals.find(agent.id, first.transactionId)?.state, 'approved')
  await assert.rejects(approvals.approve(first.id, owner), { code: 'approval_decided', message: /is approved/ })
  await assert.rejects(approvals.deny(first.id, owner), { code: 'approval_decided' })
  assert.deepEqual(events(), ['approval_requested', 'approval_requested', 'approval_approved'])
  // Another process reads the same state from the file.
  assert.equal(reopen().find(agent.id, first.transactionId)?.state, 'approved')
  assert.deepEqual(
    approvals.list({ onlyOpen: true }).map(({ state }) => state),
    ['open'],
  )
})

test('the records of an approval name the amount and the payee', async (t) => {
  const { approvals, request, details } = setUp(t)
  const { id } = await request(5)
  await approvals.deny(id, owner)
  const paid = details().map(({ network, asset, amount, payee }) => ({ network, asset, amount, payee }))
  const expected = { network: genesisHash, asset: '0', amount: '5', payee: Address.encode(new Uint8Array(32).fill(9)) }
  assert.deepEqual(paid, [expected, expected])
})

test('an approval is bound to its agent and its transaction', async (t) => {
  const { approvals, request } = setUp(t)
  const { id, transactionId } = await request(1)
  await approvals.approve(id, owner)
  assert.equal(approvals.find('agent-2', transactionId), undefined)
  assert.equal(approvals.find(agent.id, payment(2).transactionId), undefined)
})

test('a denied transaction stays denied until a round after its last valid one is known', async (t) => {
  const { approvals, request, clock, reopen, events } = setUp(t)
  const { id, transactionId } = await request(1)
  await approvals.deny(id, owner)
  assert.equal((await request(1)).state, 'denied')
  clock.ms += 40 * dayMs
  await approvals.resume()
  for (const [network, round] of [
    [genesisHash, 29n],
    [otherHash, 1_000n],
  ] as const) {
    clock.ms += dayMs
    await approvals.noteRound(network, round)
    assert.equal((await request(1)).state, 'denied')
    assert.equal(approvals.denies(agent.id, Transaction.digest(payment(1).transaction)), true)
    assert.equal(reopen().find(agent.id, transactionId)?.state, 'denied')
  }
  clock.ms += dayMs
  await approvals.noteRound(genesisHash, 30n)
  assert.equal(approvals.find(agent.id, transactionId), undefined)
  assert.equal(approvals.denies(agent.id, Transaction.digest(payment(1).transaction)), false)
  assert.deepEqual(events(), ['approval_requested', 'approval_denied'])
})

test('a denial is kept for 30 days even if its transaction is known to be invalid', async (t) => {
  const { approvals, request, clock } = setUp(t)
  await approvals.deny((await request(1)).id, owner)
  clock.ms += 29 * dayMs
  await approvals.noteRound(genesisHash, 1_000n)
  assert.equal((await request(1)).state, 'denied')
})

test('an approval expires with the last valid round of its transaction', async (t) => {
  const { approvals, request, events, clock } = setUp(t)
  const open = await request(1)
  assert.equal(open.expiresAtMs, open.createdAtMs + 10 * 2_800)
  const approved = await request(2)
  await approvals.approve(approved.id, owner)
  clock.ms = open.expiresAtMs
  assert.equal(approvals.get(open.id).state, 'open')
  clock.ms = open.expiresAtMs + 1
  assert.equal(approvals.get(open.id).state, 'expired')
  assert.equal(approvals.get(approved.id).state, 'expired')
  assert.equal(approvals.find(agent.id, approved.transactionId), undefined)
  await assert.rejects(approvals.approve(open.id, owner), { code: 'approval_decided', message: /has expired/ })
  assert.equal(events().includes('approval_approved'), true)
})

test("one agent cannot fill the owner's list", async (t) => {
  const { approvals, request } = setUp(t)
  for (let amount = 1; amount <= 100; amount++) await request(amount)
  await assert.rejects(request(101), { code: 'too_many_approvals' })
  await request(101, { ...agent, id: 'agent-2' })
  await approvals.deny(approvals.list({ onlyOpen: true }).at(-1)!.id, owner)
  await request(101)
  assert.equal(approvals.list({ onlyOpen: false }).length, 102)
})

test('an open approval is listed no matter how many were decided after it', async (t) => {
  const { approvals, request, clock } = setUp(t)
  const waiting = await request(1)
  for (let amount = 2; amount <= 251; amount++) {
    clock.ms += 1
    await approvals.deny((await request(amount)).id, owner)
  }
  const listed = approvals.list({ onlyOpen: false })
  assert.deepEqual([listed.length, listed.at(-1)?.id], [201, waiting.id])
  assert.equal(approvals.count({ onlyOpen: false }), 251)
  assert.equal(approvals.count({ onlyOpen: true }), 1)
})

test('a wait ends with the decision or the timeout', async (t) => {
  const { approvals, request, changes } = setUp(t)
  const { id } = await request(1)
  const { revision } = approvals
  const waiting = approvals.decided(id, 60_000)
  const changed = approvals.changed(revision, 60_000)
  await approvals.approve(id, owner)
  assert.equal((await waiting).state, 'approved')
  await changed
  assert.equal((await approvals.decided((await request(2)).id, 5)).state, 'open')
  assert.deepEqual(
    changes.map(({ state }) => state),
    ['open', 'approved', 'open'],
  )
})

test('approvals of an agent that ends expire', async (t) => {
  const { approvals, request, change } = setUp(t)
  const { id, transactionId } = await request(1)
  await approvals.approve(id, owner)
  await change(() => approvals.endAgent(agent.id))
  assert.equal(approvals.find(agent.id, transactionId), undefined)
  assert.equal(approvals.get(id).state, 'expired')
})

test('every record about an approval is among those of its agent', async (t) => {
  const { approvals, request, history, change } = setUp(t)
  await approvals.approve((await request(1)).id, owner)
  await approvals.deny((await request(2)).id, owner)
  await request(3)
  await change(() => approvals.endAgent(agent.id))
  const asked = 'approval_requested'
  assert.deepEqual(history(), [asked, 'approval_approved', asked, 'approval_denied', asked, 'approval_expired'])
})

test('approvals that expired while no daemon ran are recorded at the start, and open ones are reported again', async (t) => {
  const { request, events, clock, reopen, changes } = setUp(t)
  const first = await request(1)
  clock.ms += 5_000
  const second = await request(2)
  clock.ms = first.expiresAtMs + 1
  changes.length = 0
  const again = reopen()
  await again.resume()
  assert.deepEqual(events().slice(2), ['approval_expired'])
  assert.deepEqual(
    changes.map(({ id, state }) => [id, state]),
    [
      [first.id, 'expired'],
      [second.id, 'open'],
    ],
  )
  again.close()
})

test('payments that expire one after another can be requested a hundred times an hour', async (t) => {
  const { approvals, request, clock } = setUp(t)
  let amount = 0
  const askUntilRefused = async (): Promise<number> => {
    for (let asked = 0; asked < 500; asked++) {
      // Each expires after 10 rounds, long before the next.
      clock.ms += 30_000
      try {
        await request(++amount)
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'too_many_approvals')
        return asked
      }
    }
    return 500
  }
  assert.equal(await askUntilRefused(), 100)
  clock.ms += 3_600_000
  await approvals.deny((await request(++amount)).id, owner)
  assert.equal(await askUntilRefused(), 100, 'what the owner decided takes no room')
})

test('repeated requests for one transaction count each time', async (t) => {
  const { request, events, clock } = setUp(t)
  let asked = 0
  const isTaken = async (): Promise<boolean> => {
    clock.ms += 30_000
    return request(1).then(
      () => true,
      () => false,
    )
  }
  while (asked < 500 && (await isTaken())) asked++
  assert.equal(asked, 100)
  assert.equal(events().filter((event) => event === 'approval_expired').length, 99)
})

test('stopping the daemon ends current and future waits', { timeout: 60_000 }, async (t) => {
  const { approvals, request } = setUp(t)
  const { id } = await request(1)
  const waiting = [approvals.decided(id, 3_600_000), approvals.changed(approvals.revision, 3_600_000)]
  approvals.close()
  await Promise.all(waiting)
  assert.equal((await approvals.decided(id, 3_600_000)).state, 'open')
  await approvals.changed(approvals.revision, 3_600_000)
})

test('an agent with too many waiting requests blocks neither the owner nor other agents', async (t) => {
  const { approvals, request } = setUp(t)
  const { id } = await request(1)
  const waiting = Array.from({ length: 50 }, () => approvals.decided(id, 3_600_000, agent.id))
  await assert.rejects(approvals.decided(id, 3_600_000, agent.id), { code: 'too_many_approvals' })
  waiting.push(approvals.decided(id, 3_600_000, 'agent-2'))
  const changed = approvals.changed(approvals.revision, 3_600_000)
  await approvals.approve(id, owner)
  await changed
  for (const { state } of await Promise.all(waiting)) assert.equal(state, 'approved')
  assert.equal((await approvals.decided((await request(2)).id, 1, agent.id)).state, 'open', 'there is room again')
})

test('an unknown id is not found', (t) => {
  const { approvals } = setUp(t)
  for (const id of ['', 'x', "' OR 1=1", 'a'.repeat(16)]) {
    assert.throws(() => approvals.get(id), { code: 'approval_not_found' })
  }
})
