/** Authorizations whose handler failed are given back, unless they are sent again. */
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { MemoryClaims } from '../store/Claims.js'
import type { PaidRequest } from './PaidRequest.js'
import { Renewals, Unfinished } from './Renewals.js'
import { UnusedAuthorizations, type UnusedOptions } from './UnusedAuthorizations.js'

// The timers do not keep a process alive.
const alive = setInterval(() => {}, 1_000)
after(() => clearInterval(alive))

const transactionId = 'upto-A'

function opened() {
  const claims = new MemoryClaims()
  const onError = (): void => {}
  const renewals = new Renewals({ claims, onError })
  const asked: { readonly amount: string; readonly claimant: string; readonly isClaimed: boolean }[] = []
  const facilitators = {
    settle: async (_: unknown, { amount }: { amount: string }, { claimant }: { claimant: string }) => {
      asked.push({ amount, claimant, isClaimed: claims.has(transactionId) })
      throw new Error('the facilitator is busy')
    },
  }
  const unfinished = new Unfinished(claims, renewals, onError)
  const options = { claims, renewals, unfinished, onError, facilitators, events: {} } as unknown as UnusedOptions
  const unused = new UnusedAuthorizations(options, 20)
  const paid = {
    claimsId: claims.id,
    chain: { caip2: 'algorand:a' },
    payment: { transactionId, payer: 'P', firstValid: 0n, lastValid: 200n },
    requirement: { amount: '500', maxTimeoutSeconds: 60 },
    payload: {},
    claimant: 'the gate',
    binding: 'b',
    proof: 'none',
    usage: {},
    request: { id: 'r' },
  } as unknown as PaidRequest
  const other = { owner: 'another request', binding: 'b', proof: 'none', nowMs: Date.now(), leaseMs: 60_000 } as const
  const claim = () => claims.claim(transactionId, { ...other, network: 'algorand:a', round: 1n, forgetRound: 9n }).type
  return { claims, asked, unused, paid, claim }
}

test('an authorization is settled with 0 by its claimant, while no other request has the payment', async () => {
  const { claims, asked, unused, paid, claim } = opened()
  unused.add(paid, 1n)
  assert.deepEqual(asked, [], 'not at once: the buyer may send the payment again')
  while (asked.length === 0) await sleep(5)
  assert.deepEqual(asked, [{ amount: '0', claimant: 'the gate', isClaimed: true }])
  await sleep(5)
  assert.equal(claims.has(transactionId), true)
  assert.equal(claim(), 'taken', 'also if the facilitator fails: it may have settled 0, or settle it later')
})

test('an authorization that was sent again is not settled with 0', async () => {
  for (const end of [undefined, 'open', 'served'] as const) {
    const { claims, asked, unused, paid, claim } = opened()
    unused.add(paid, 1n)
    assert.equal(claim(), 'new')
    if (end !== undefined) claims.finish(transactionId, 'another request', end, Date.now())
    await sleep(60)
    assert.deepEqual(asked, [])
    assert.equal(claims.has(transactionId), true)
    if (end === 'open') assert.equal(claim(), 'again', 'the buyer may still send it')
  }
})

test('nothing is settled after the gate was closed, or for claims that the store has lost', async () => {
  const { asked, unused, paid } = opened()
  unused.add(paid, 1n)
  unused.stop()
  unused.add({ ...paid, claimsId: 'those before' }, 1n)
  await sleep(60)
  assert.deepEqual(asked, [])
})
