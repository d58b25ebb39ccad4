/** Searches the kept transactions: newest first for an account, oldest first otherwise. */
import { Bytes, Hash } from '@latchkey/algorand'
import * as MapKey from '../ledger/MapKey.js'
import { ApiError } from '../rest/ApiError.js'
import type { PostingList } from './PostingList.js'
import type { TransactionFilter } from './TransactionFilter.js'
import type { Entry, Range, TransactionIndex } from './TransactionIndex.js'
import type { Slice } from './Turns.js'

/** The number of entries between two checks of the clock. */
const entriesPerLook = 256
/** A search restarts if the ledger is reverted meanwhile. */
const maxStarts = 10

/** Passes every matching entry to `take` until it returns false. */
export async function search(
  index: TransactionIndex,
  filter: TransactionFilter,
  slice: Slice,
  restart: () => void,
  take: (entry: Entry) => boolean,
): Promise<void> {
  for (let start = 0; start < maxStarts; start++) {
    restart()
    if (await scan(index, filter, slice, take)) return
  }
  throw new ApiError(503, 'error while searching for transaction: the ledger was reverted during the search')
}

/** Returns false if the ledger was reverted in the meantime. */
async function scan(
  index: TransactionIndex,
  filter: TransactionFilter,
  slice: Slice,
  take: (entry: Entry) => boolean,
): Promise<boolean> {
  const { revision } = index
  let looks = 0
  for (const candidate of candidates(index, filter)) {
    const entry = index.entry(candidate.sequence)
    const isMatch = entry !== undefined && matches(entry, candidate.roles, filter)
    if (isMatch && !take(entry)) return true
    looks++
    const pause = isMatch || looks % entriesPerLook === 0 ? slice.pause() : undefined
    if (pause === undefined) continue
    await pause
    if (index.revision !== revision) return false
  }
  return true
}

type Candidate = { sequence: number; roles: number }

/** One object for all candidates, because there are as many as transactions. */
function* candidates(index: TransactionIndex, filter: TransactionFilter): Generator<Readonly<Candidate>> {
  const { address, assetId, transactionId } = filter
  const range = rangeOf(index, filter)
  const candidate: Candidate = { sequence: 0, roles: 0 }
  if (transactionId !== undefined) {
    yield* withId(index, transactionId, filter, range)
  } else if (address !== undefined) {
    const list = index.ofAccount(address)
    if (list !== undefined) yield* descending(list, range, candidate)
  } else if (assetId !== undefined && assetId !== 0n) {
    const list = index.ofAsset(assetId)
    if (list !== undefined) yield* ascending(list, range, candidate)
  } else {
    for (candidate.sequence = range.low; candidate.sequence < range.high; candidate.sequence++) yield candidate
  }
}

function* withId(
  index: TransactionIndex,
  id: string,
  { address }: TransactionFilter,
  { low, high }: Range,
): Generator<Candidate> {
  const digest = Hash.fromText(id)
  const sequence = digest && index.find(MapKey.of(digest))
  if (sequence === undefined || sequence < low || sequence >= high) return
  if (address === undefined) return yield { sequence, roles: 0 }
  const list = index.ofAccount(address)
  const position = list?.indexOf(sequence) ?? 0
  if (list === undefined || position >= list.size || list.sequence(position) !== sequence) return
  yield { sequence, roles: list.roles(position) }
}

/** Lists lose items at their start while a search pauses, so the position is looked up again from the last item. */
function* descending(list: PostingList, { low, high }: Range, candidate: Candidate): Generator<Candidate> {
  for (let position = list.indexOf(high) - 1; position >= 0; position = list.indexOf(candidate.sequence) - 1) {
    candidate.sequence = list.sequence(position)
    if (candidate.sequence < low) return
    candidate.roles = list.roles(position)
    yield candidate
  }
}

function* ascending(list: PostingList, { low, high }: Range, candidate: Candidate): Generator<Candidate> {
  for (let position = list.indexOf(low); position < list.size; position = list.indexOf(candidate.sequence + 1)) {
    candidate.sequence = list.sequence(position)
    if (candidate.sequence >= high) return
    yield candidate
  }
}

/** The range of sequence numbers allowed by rounds, times and the token. Rounds and times never decrease. */
function rangeOf(index: TransactionIndex, filter: TransactionFilter): Range {
  const { round, minRound, maxRound, beforeMs, afterMs, after, address } = filter
  let { low, high } = index.range
  const notBefore = (sequence: number): void => {
    low = Math.max(low, sequence)
  }
  const before = (sequence: number): void => {
    high = Math.min(high, sequence)
  }
  const fromRound = (first: bigint): number => index.firstWhere(({ block }) => block.round >= first)
  notBefore(fromRound(round ?? minRound))
  if (round !== undefined) before(fromRound(round + 1n))
  else if (maxRound > 0n) before(fromRound(maxRound + 1n))
  if (afterMs !== undefined) notBefore(index.firstWhere(({ block }) => Number(block.timestamp) * 1000 > afterMs))
  if (beforeMs !== undefined) before(index.firstWhere(({ block }) => Number(block.timestamp) * 1000 >= beforeMs))
  if (after === undefined) return { low, high }
  const isReached = ({ block, intra }: Entry): boolean =>
    block.round > after.round || (block.round === after.round && intra >= after.intra)
  const reached = index.firstWhere(isReached)
  if (address !== undefined) before(reached)
  else {
    const entry = index.entry(reached)
    notBefore(entry?.block.round === after.round && entry.intra === after.intra ? reached + 1 : reached)
  }
  return { low, high }
}

function matches(entry: Entry, roles: number, filter: TransactionFilter): boolean {
  const { type, signature, assetId, group, notePrefix, amount } = filter
  if (type !== undefined && entry.type !== type) return false
  if (signature !== undefined && entry.signature !== signature) return false
  if (assetId !== undefined && entry.assetId !== assetId) return false
  if (filter.isRekey && !entry.isRekey) return false
  if (group !== undefined && entry.group !== group) return false
  if (filter.address !== undefined && filter.roles !== 0 && (roles & filter.roles) === 0) return false
  const value = entry[amount.of]
  if (amount.greaterThan !== undefined && (value === undefined || value <= amount.greaterThan)) return false
  if (amount.lessThan !== undefined && (value === undefined || value >= amount.lessThan)) return false
  return notePrefix === undefined || notePrefix.length === 0 || startsWith(entry, notePrefix)
}

function startsWith({ block, intra, noteStart, noteBytes }: Entry, prefix: Uint8Array): boolean {
  if (noteBytes < prefix.length) return false
  const { signed } = block.transactions[intra]!
  return Bytes.equal(signed.subarray(noteStart, noteStart + prefix.length), prefix)
}
