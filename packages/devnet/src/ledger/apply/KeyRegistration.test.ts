import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transaction } from '@latchkey/algorand'
import { sign, TestNode } from '../../testing/TestNode.test.helper.js'

const filled = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
const keys = { votekey: filled(1), selkey: filled(2), sprfkey: filled(3, 64), votekd: 10n, votelst: 900n }

function setUp() {
  const node = new TestNode()
  const alice = node.funded(0)
  const register = (fields: Partial<Transaction.Transaction>): Promise<string> =>
    node.send(sign(node.txn('keyreg', alice, fields), alice))
  return { node, register, account: () => node.ledger.state.account(alice.key), address: alice.address }
}

test('going online records the keys and a heartbeat', async () => {
  const { node, register, account, address } = setUp()
  node.node.mine(4)
  await register({ ...keys, votefst: 6n })
  const { status, lastHeartbeat, incentiveEligible, participation } = account()
  assert.deepEqual([status, lastHeartbeat, incentiveEligible], ['Online', 325n, false])
  assert.deepEqual([participation?.firstRound, participation?.lastRound, participation?.keyDilution], [6n, 900n, 10n])
  const { json } = await node.get(`/v2/accounts/${address}`)
  assert.equal(json.status, 'Online')
  assert.deepEqual(json.participation, {
    'selection-participation-key': Buffer.from(keys.selkey).toString('base64'),
    'state-proof-key': Buffer.from(keys.sprfkey).toString('base64'),
    'vote-first-valid': 6,
    'vote-key-dilution': 10,
    'vote-last-valid': 900,
    'vote-participation-key': Buffer.from(keys.votekey).toString('base64'),
  })
})

test('accepts keys valid for 16,777,215 rounds', async () => {
  const { register, account } = setUp()
  await register({ ...keys, votelst: 16_777_215n })
  assert.equal(account().participation?.lastRound, 16_777_215n)
})

test('a fee of 2 Algos makes an account eligible for incentives, also after it goes offline', async () => {
  const { register, account } = setUp()
  await register({ ...keys, fee: 1_999_999n })
  assert.equal(account().incentiveEligible, false)
  await register({ ...keys, fee: 2_000_000n })
  assert.equal(account().incentiveEligible, true)
  await register({})
  const { status, participation, incentiveEligible } = account()
  assert.deepEqual([status, participation, incentiveEligible], ['Offline', undefined, true])
  await register(keys)
  assert.equal(account().incentiveEligible, true)
})

test('nonparticipation is shown in the status', async () => {
  const { node, register, account, address } = setUp()
  await register({ ...keys })
  await register({ nonpart: true })
  assert.deepEqual([account().status, account().participation], ['Not Participating', undefined])
  assert.equal((await node.get(`/v2/accounts/${address}`)).json.status, 'Not Participating')
})
