/** A database of an earlier version is opened with its content. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Transaction } from '@latchkey/algorand'
import { key, limit, network, pay, rulesOf, startMs, walletId } from '../agents/AgentFixture.test.helper.js'
import { rulesText } from '../agents/AgentStore.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { fileName, migrations, openState } from './openState.js'
import { StateDatabase } from './StateDatabase.js'

const agentId = 'agent-one-id'

/** The first version, with an agent, an approved approval with one rule, and a denied one. */
async function makeFirstVersion(directory: string) {
  const database = new StateDatabase({ file: join(directory, fileName), migrations: migrations.slice(0, 1) })
  const [approved, denied] = [pay(1n), pay(2n)]
  await database.change(() => {
    database
      .statement('INSERT INTO agents VALUES (1, ?, ?, ?, ?, ?, ?, NULL, ?, ?)')
      .run(agentId, 'shopper', walletId, key.address, 'active', startMs, rulesText(rulesOf([])), Buffer.alloc(32))
    const refusal = JSON.stringify({ code: 'agent_approval_required', rule: 'ask above $1', message: 'It asks.' })
    for (const [id, state, { bytes }] of [
      ['a', 'approved', approved],
      ['d', 'denied', denied],
    ] as const) {
      database
        .statement('INSERT INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
        .run(
          id,
          agentId,
          'shopper',
          state,
          Transaction.id(bytes),
          bytes,
          refusal,
          '',
          '',
          startMs,
          startMs + 1,
          startMs,
        )
    }
  })
  await database.close()
  return { approved, denied }
}

test('agents are not suspended, an approval covers its one rule, and a denial holds', async (t) => {
  const directory = temporaryDirectory(t)
  const { denied } = await makeFirstVersion(directory)
  const { agents, approvals, close } = openState({ directory, now: () => startMs })
  t.after(close)
  assert.deepEqual([agents.find(agentId).state, agents.find(agentId).suspendedReason], ['active', undefined])
  assert.deepEqual(
    approvals.get('a').refusals.map(({ rule }) => rule),
    ['ask above $1'],
  )
  const digest = Transaction.digest(denied.bytes)
  assert.equal(approvals.denies(agentId, digest), true)
  // Its network was not stored in that version, so it is kept.
  await approvals.noteRound(network, 10_000_000n)
  assert.equal(approvals.denies(agentId, digest), true)
})

test('reservations of the second version are transactions', async (t) => {
  const directory = temporaryDirectory(t)
  const database = new StateDatabase({ file: join(directory, fileName), migrations: migrations.slice(0, 2) })
  const rules = rulesText(rulesOf([limit('total', 100n)]))
  await database.change(() => {
    database
      .statement('INSERT INTO agents VALUES (1, ?, ?, ?, ?, ?, ?, NULL, ?, ?, NULL)')
      .run(agentId, 'shopper', walletId, key.address, 'active', startMs, rules, Buffer.alloc(32))
    database.statement('INSERT INTO networks VALUES (1, ?)').run(network)
    database
      .statement('INSERT INTO reservations VALUES (1, 1, ?, ?, 1, 5, 20, NULL, 60, 0, 0, 0)')
      .run(Transaction.digest(pay(60n).bytes), startMs)
  })
  await database.close()
  const { agents, close } = openState({ directory, now: () => startMs })
  t.after(close)
  assert.equal(agents.budget(agentId)[0]!.left, 40n)
  const query = { network, after: 0, count: 10 }
  assert.deepEqual(agents.spending.openUpto(1, query), [])
  const [open] = agents.spending.over(1, { ...query, lastValid: 20n })
  assert.deepEqual([open?.microAlgos, open?.uptoPayer], [60n, undefined])
})
