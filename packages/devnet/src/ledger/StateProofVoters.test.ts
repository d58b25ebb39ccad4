import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestNode } from '../testing/TestNode.test.helper.js'
import { none } from './Account.js'
import * as Genesis from './Genesis.js'
import { State } from './State.js'
import * as StateProofVoters from './StateProofVoters.js'

const { participation } = Genesis.make({ accountCount: 0 })

/** A state in which the online accounts of the genesis have other balances. */
function stateWith(balances: readonly bigint[]): State {
  const state = new State(1000n)
  for (const [index, microAlgos] of balances.entries()) {
    const { account, keys } = participation[index]!
    state.setAccount(account, { ...none, microAlgos, status: 'Online', participation: keys })
  }
  return state
}

function votersOf(state: State): { microAlgos: bigint; commitment: string | undefined } {
  const voters = new StateProofVoters.StateProofVoters()
  voters.record(240n, state)
  const { microAlgos, commitment } = voters.committedIn(256n)!
  return { microAlgos, commitment: commitment && Buffer.from(commitment).toString('base64') }
}

test('a commitment is that of a node, with the largest account first', () => {
  const state = stateWith([3_999_996_799_994_000n, 4_000_000_000_000_000n, 2_000_000_000_000_000n])
  assert.deepEqual(votersOf(state), {
    microAlgos: 9_999_996_799_994_000n,
    commitment: 'SK8rq1HvNZRHUV+kwyt1f0uUnaFNmen4IN5Bf30o9nfAmk6Wu4kHRKKNwwID05XH/eJN/qHFpw0d3QvCqevNqw==',
  })
})

test('accounts with equal balances are in the order of a node', () => {
  const state = stateWith([3_999_999_999_999_000n, 3_999_999_999_999_000n, 2_000_000_000_000_000n])
  assert.deepEqual(votersOf(state), {
    microAlgos: 9_999_999_999_998_000n,
    commitment: 'Hcx1vrLuU79AGJRSmr506D3vIa4Omnu7kprXG1XZ3NnjH76ME21VjluxHXsUfE4h7Fu9XIJ0T4RsDTeS3bdK5A==',
  })
})

test('accounts that are not online or whose keys end before the next commitment do not vote', () => {
  const state = stateWith([5n, 6n, 7n])
  const all = participation.map(({ account }) => account)
  state.setAccount(all[0]!, { ...state.account(all[0]!), status: 'Offline' })
  assert.equal(votersOf(state).microAlgos, 13n)
  for (const [lastRound, microAlgos] of [
    [512n, 13n],
    [511n, 7n],
  ] as const) {
    const keys = { ...participation[1]!.keys, lastRound }
    state.setAccount(all[1]!, { ...state.account(all[1]!), participation: keys })
    assert.equal(votersOf(state).microAlgos, microAlgos, String(lastRound))
  }
  for (const account of all) state.setAccount(account, none)
  assert.deepEqual(votersOf(state), { microAlgos: 0n, commitment: undefined })
})

test('the header of every 256th block commits to the voters of 16 rounds before', async () => {
  const node = new TestNode()
  const { account } = participation[2]!
  const before = node.ledger.state.totals.Online.microAlgos
  const closeUntil = (round: bigint): void => {
    while (node.ledger.last.round < round) node.ledger.closeBlock()
  }
  const trackingOf = async (round: number) => (await node.get(`/v2/blocks/${round}`)).json.block.spt['0']
  closeUntil(241n)
  node.ledger.state.setAccount(account, { ...node.ledger.state.account(account), microAlgos: 1n })
  closeUntil(257n)
  const { n, t, v } = await trackingOf(256)
  assert.deepEqual([n, BigInt(t), Buffer.from(v, 'base64').length], [512, before, 64])
  assert.deepEqual([await trackingOf(255), await trackingOf(257)], [{ n: 512 }, { n: 512 }])
  const { bytes: encoded } = await node.get('/v2/blocks/256?format=msgpack&header-only=true')
  assert.ok(Buffer.from(encoded).includes(Buffer.from(v, 'base64')))
})

test('a ledger that restarts shortly before a commitment uses the state that it restarts from', () => {
  const state = stateWith([5n, 6n, 7n])
  const voters = new StateProofVoters.StateProofVoters()
  voters.restart(239n, state)
  assert.equal(voters.committedIn(256n), undefined)
  voters.restart(240n, state)
  assert.equal(voters.committedIn(256n)?.microAlgos, 18n)
  voters.restart(256n, state)
  assert.equal(voters.committedIn(512n), undefined)
})
