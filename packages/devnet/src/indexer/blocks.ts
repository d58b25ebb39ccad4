/** Blocks and their headers. */
import type { RawResponse } from '@latchkey/http'
import { ApiError } from '../rest/ApiError.js'
import { type Query, uint } from '../rest/Route.js'
import { blockJson } from './blockJson.js'
import type { IndexerCall, IndexerRoute } from './IndexerRoute.js'
import * as NextToken from './NextToken.js'
import { Page } from './Page.js'
import * as Parameters from './Parameters.js'
import { transactionJson } from './transactionJson.js'

export const blockRoutes: readonly IndexerRoute[] = [
  { method: 'GET', path: '/v2/blocks/{round-number}', handle: lookUp },
  { method: 'GET', path: '/v2/block-headers', handle: searchHeaders },
]

const limits: Parameters.Limits = { default: 100n, max: 1_000n }
const maxTransactions = 10_000
const maxAddresses = 50

async function lookUp({ ledger, turns, path, query }: IndexerCall): Promise<RawResponse> {
  const round = uint('round-number', path[0]!)
  const isHeaderOnly = query.flag('header-only')
  Parameters.checkInt64(round)
  const block = ledger.block(round)
  if (block === undefined) {
    const hint = round < ledger.oldestRound ? `blocks before round ${ledger.oldestRound} are not kept` : undefined
    throw new ApiError(404, `error while looking up block for round '${round}': block not found`, hint)
  }
  const count = isHeaderOnly ? 0 : block.transactions.length
  if (count > maxTransactions) {
    throw new ApiError(400, 'Max transactions limit exceeded. header-only flag should be enabled')
  }
  const page = new Page(maxTransactions)
  await turns.run(async (slice) => {
    for (let intra = 0; intra < count; intra++) {
      page.add(transactionJson(block, intra))
      await slice.pause()
    }
  })
  return page.toResponse('transactions', blockJson(block))
}

type HeaderFilter = {
  readonly min: bigint
  readonly max: bigint
  readonly afterMs: number | undefined
  readonly beforeMs: number | undefined
  /** Blocks here have no proposers, and no accounts expire or are absent. */
  readonly isEmpty: boolean
}

function readFilter(query: Query): HeaderFilter {
  const [min, max] = [query.uint('min-round'), query.uint('max-round')]
  const [beforeMs, afterMs] = [Parameters.time(query, 'before-time'), Parameters.time(query, 'after-time')]
  const reasons: string[] = []
  if (min !== undefined && max !== undefined && min > max) reasons.push('min-round must be less than max-round')
  const token = query.get('next')
  const after = token === undefined ? undefined : NextToken.readRound(token)
  if (token !== undefined && after === undefined) {
    reasons.push(`unable to parse next token: DecodeBlockRowNext() ${NextToken.reason(token)}`)
  }
  const isEmpty = readAddresses(query, reasons)
  if (reasons.length > 0) throw new ApiError(400, reasons.join('\n'))
  checkRange(min, max, afterMs, beforeMs)
  const first = after === undefined ? 0n : after + 1n
  return {
    min: min === undefined || min < first ? first : min,
    max: max ?? Parameters.maxInt64,
    afterMs,
    beforeMs,
    isEmpty,
  }
}

function checkRange(
  min: bigint | undefined,
  max: bigint | undefined,
  afterMs: number | undefined,
  beforeMs: number | undefined,
): void {
  const reasons: string[] = []
  if ([min, max].some((round) => round !== undefined && round > Parameters.maxInt64)) reasons.push(Parameters.tooLarge)
  if (afterMs !== undefined && beforeMs !== undefined && afterMs > beforeMs) {
    reasons.push('after-time must be less than before-time')
  }
  if (reasons.length > 0) throw new ApiError(400, `invalid input: ${reasons.join(', ')}`)
}

/** Whether there is a list of addresses, one of which would have to be in the header. */
function readAddresses(query: Query, reasons: string[]): boolean {
  const lists = (
    [
      ['proposers', 'proposer'],
      ['expired', 'expired'],
      ['absent', 'absent'],
    ] as const
  ).map(([name, word]) => ({ name, word, addresses: Parameters.list(query, name) }))
  const given = lists.filter(({ addresses }) => addresses !== undefined)
  if (given.length > 1) reasons.push('only one of `proposer`, `expired`, or `absent` can be specified')
  for (const { name, addresses } of given) {
    if (addresses!.length > maxAddresses) reasons.push(`${name} list too long, max size is ${maxAddresses}`)
  }
  for (const { word, addresses = [] } of given) {
    for (const text of addresses.slice(0, maxAddresses)) {
      const parsed = Parameters.parseAddress(text)
      if (typeof parsed !== 'string') reasons.push(`unable to parse ${word} address \`${text}\`: ${parsed.reason}`)
    }
  }
  return given.length > 0
}

async function searchHeaders({ ledger, turns, query }: IndexerCall): Promise<RawResponse> {
  const page = new Page(Parameters.limit(query, limits))
  const filter = readFilter(query)
  let currentRound = ledger.last.round
  let last: bigint | undefined
  await turns.run(async (slice) => {
    if (filter.isEmpty) return
    currentRound = ledger.last.round
    const first = filter.min > ledger.oldestRound ? filter.min : ledger.oldestRound
    for (let round = first; round <= filter.max && round <= currentRound; round++) {
      // The block was dropped in the meantime, while later ones still exist.
      if (round < ledger.oldestRound) {
        round = ledger.oldestRound - 1n
        continue
      }
      const block = ledger.block(round)
      // The block was reverted in the meantime.
      if (block === undefined) return
      const ms = Number(block.timestamp) * 1000
      if (filter.beforeMs !== undefined && ms >= filter.beforeMs) return
      if (filter.afterMs === undefined || ms > filter.afterMs) {
        last = round
        if (!page.add(blockJson(block))) return
      }
      await slice.pause()
    }
  })
  const token = last === undefined ? undefined : NextToken.ofRound(last)
  return page.toResponse('blocks', { 'current-round': currentRound, 'next-token': token })
}
