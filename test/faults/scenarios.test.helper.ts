/**
 * Defines small scenarios with one planted fault each, their correct counterparts, and what the checker has to find.
 */
import type { Rule } from './checkHistory.test.helper.js'

export type Scenario = {
  readonly name: string
  /** The planted faults, by process name. */
  readonly plants: { readonly [process: string]: string }
  readonly env?: { readonly [name: string]: string } | undefined
  /** The number of purchases of each of four buyers. */
  readonly purchases: number
  readonly budget?: number | undefined
  /** Whether buyers would wait forever. */
  readonly isEndless?: boolean
  /** At least one of these must be found; if empty, nothing may be found. */
  readonly finds: readonly Rule[]
}

const both = (kind: 'replica' | 'gate', plant: string): { [process: string]: string } => {
  return { [`${kind}-1`]: plant, [`${kind}-2`]: plant }
}

/** Every payment is sent to both gates at the same time, and presented again after its answer. */
const insistent = { FAULTS_DOUBLE_RATE: '1', FAULTS_REPEAT_RATE: '1' }
/** Handlers that take longer than a lease, for payments that are sent to both gates until they are answered. */
const slow = { FAULTS_HANDLER_MS: '3000', FAULTS_DOUBLE_RATE: '1', FAULTS_TRIES: '100' }
const firstDies = { 'replica-1': 'dies when it has recorded' }
const toFirst = { FAULTS_PREFERS_FIRST: 'yes' }

export const scenarios: readonly Scenario[] = [
  {
    name: 'a replica dies when it has recorded a settlement',
    plants: firstDies,
    env: toFirst,
    purchases: 2,
    finds: [],
  },
  {
    name: 'claims without an atomic claim',
    plants: both('gate', 'checks, then claims'),
    env: insistent,
    purchases: 2,
    // The second answer is not sent, because another gate holds the claim by then. The checker still sees that the
    // order was done twice.
    finds: ['two answers for one payment', 'begun again after it was sent', 'done twice'],
  },
  {
    name: 'an answer that is served twice',
    plants: both('gate', 'serves again'),
    env: insistent,
    purchases: 2,
    finds: ['begun again after it was sent', 'two answers for one payment'],
  },
  {
    name: 'a gate that loses its leases while handlers run',
    plants: both('gate', 'loses its lease'),
    env: slow,
    purchases: 3,
    finds: [],
  },
  {
    name: 'a gate that loses its leases, at a store without a fence',
    plants: both('gate', 'loses its lease, without a fence'),
    env: slow,
    purchases: 3,
    finds: ['two answers for one payment', 'answered and lost', 'done twice'],
  },
  {
    name: 'a lease that is never taken over',
    plants: { ...firstDies, 'replica-2': 'takes nothing over' },
    env: toFirst,
    purchases: 1,
    isEndless: true,
    finds: ['never ended', 'not decided in the end'],
  },
  {
    name: 'a notification that is lost',
    plants: both('replica', 'hears of nothing'),
    purchases: 2,
    finds: ['not decided in the end'],
  },
  {
    name: 'a budget that each replica counts for itself',
    plants: both('replica', 'counts its own fees'),
    purchases: 6,
    budget: 6,
    finds: ['fees over budget'],
  },
  {
    name: 'a settlement on the ledger that is answered as failed',
    plants: both('replica', 'records failures'),
    purchases: 2,
    finds: ['failed in a response, and on the ledger'],
  },
  {
    name: 'a charge that is recorded with another amount',
    plants: both('replica', 'records another amount'),
    env: { FAULTS_GOODS: 'query' },
    purchases: 2,
    isEndless: true,
    finds: ['charged other than answered by a replica'],
  },
  {
    name: 'a stream that was delivered, and is never charged',
    plants: both('gate', 'loses the charge of a stream'),
    env: { FAULTS_GOODS: 'tail' },
    purchases: 2,
    isEndless: true,
    finds: ['used and not charged'],
  },
]
