/** Applications, their boxes and logs. */
import { Submission } from '@latchkey/algorand'
import type { RawResponse } from '@latchkey/http'
import * as MapKey from '../ledger/MapKey.js'
import * as Delta from '../ledger/programs/Delta.js'
import { SortedList } from '../ledger/SortedList.js'
import { ApiError } from '../rest/ApiError.js'
import * as BoxName from '../rest/BoxName.js'
import type { Value } from '../rest/HttpResponse.js'
import * as HttpResponse from '../rest/HttpResponse.js'
import { uint } from '../rest/Route.js'
import { applicationJson, createdAppIds, localJson, optedInAppIds } from './applicationJson.js'
import { readNextId } from './assets.js'
import type { IndexerCall, IndexerRoute } from './IndexerRoute.js'
import * as NextToken from './NextToken.js'
import { Page, scan } from './Page.js'
import * as Parameters from './Parameters.js'
import { search as searchTransactions } from './searchTransactions.js'
import * as TransactionFilter from './TransactionFilter.js'
import type { Entry } from './TransactionIndex.js'

export const applicationRoutes: readonly IndexerRoute[] = [
  { method: 'GET', path: '/v2/applications', handle: (call) => search(call, call.query.get('creator')) },
  { method: 'GET', path: '/v2/applications/{application-id}', handle: lookUp },
  { method: 'GET', path: '/v2/applications/{application-id}/box', handle: lookUpBox },
  { method: 'GET', path: '/v2/applications/{application-id}/boxes', handle: listBoxes },
  { method: 'GET', path: '/v2/applications/{application-id}/logs', handle: listLogs },
  { method: 'GET', path: '/v2/accounts/{account-id}/apps-local-state', handle: listLocals },
  {
    method: 'GET',
    path: '/v2/accounts/{account-id}/created-applications',
    handle: (call) => search(call, call.path[0]),
  },
]

const limits: Parameters.Limits = { default: 100n, max: 1_000n }
const boxLimits: Parameters.Limits = { default: 1_000n, max: 10_000n }
const badCreator = 'unable to parse creator address: '

/** The parameters of a list of applications, in the order in which they are checked. */
function readList({ query }: IndexerCall, account: string | undefined) {
  const only = query.uint('application-id')
  const includesAll = query.flag('include-all')
  const limit = Parameters.limit(query, limits)
  Parameters.checkInt64(only)
  const key = account === undefined ? undefined : Parameters.address(account, badCreator)
  return { only, includesAll, limit, key, after: readNextId(query) }
}

type List = ReturnType<typeof readList>

/** A page of the applications with these ids, as far as they are wanted. */
async function respond(
  { ledger, turns }: IndexerCall,
  name: string,
  { only, limit, after }: List,
  ids: () => SortedList<bigint>,
  shown: (id: bigint) => Value | undefined,
): Promise<RawResponse> {
  const page = new Page(limit)
  let last: bigint | undefined
  let currentRound = ledger.last.round
  const take = (id: bigint): boolean => {
    const value = only === undefined || id === only ? shown(id) : undefined
    if (value === undefined) return true
    last = id
    return page.add(value)
  }
  await turns.run((slice) => {
    currentRound = ledger.last.round
    return scan(ids(), after, slice, take)
  })
  return page.toResponse(name, { 'current-round': currentRound, 'next-token': last?.toString() })
}

function search(call: IndexerCall, creator: string | undefined): Promise<RawResponse> {
  const { ledger } = call
  const list = readList(call, creator)
  const { key, includesAll } = list
  const { apps } = ledger.lifetimes!
  const ids = () => (key === undefined ? apps.order : SortedList.of(createdAppIds(ledger, key, includesAll)))
  return respond(call, 'applications', list, ids, (id) => {
    const isShown = includesAll ? apps.applications.has(id) : ledger.state.application(id) !== undefined
    return isShown ? applicationJson(ledger, id) : undefined
  })
}

function listLocals(call: IndexerCall): Promise<RawResponse> {
  const { ledger, path } = call
  const list = readList(call, path[0])
  const key = list.key!
  const ids = () => SortedList.of(optedInAppIds(ledger, key, list.includesAll))
  return respond(call, 'apps-local-states', list, ids, (id) => localJson(ledger, key, id))
}

function readId(path: readonly string[]): bigint {
  const applicationId = uint('application-id', path[0]!)
  Parameters.checkInt64(applicationId)
  return applicationId
}

function lookUp({ ledger, path, query }: IndexerCall): RawResponse {
  const id = readId(path)
  const isKnown = query.flag('include-all')
    ? ledger.lifetimes!.apps.applications.has(id)
    : ledger.state.application(id) !== undefined
  if (!isKnown) throw new ApiError(404, `no application found for application-id: ${id}`)
  return HttpResponse.json({ application: applicationJson(ledger, id), 'current-round': ledger.last.round })
}

function lookUpBox({ ledger, path, query }: IndexerCall): RawResponse {
  const applicationId = readId(path)
  const name = query.get('name')
  if (name === undefined) {
    throw new ApiError(400, "Invalid format for parameter name: query parameter 'name' is required")
  }
  const decoded = BoxName.decode(name)
  if ('problem' in decoded) {
    throw new ApiError(400, `LookupApplicationBoxByIDAndName received illegal box name (${name}): ${decoded.problem}`)
  }
  const value = ledger.state.box(applicationId, MapKey.of(decoded.bytes))
  if (value === undefined) {
    const where = `round=${ledger.last.round}, appid=${applicationId}, boxName=${name}`
    const isKnown = ledger.lifetimes!.apps.applications.has(applicationId)
    const missing = isKnown ? 'no application boxes found' : 'no application found for application-id'
    throw new ApiError(404, `${missing}: ${where}`)
  }
  return HttpResponse.json({ name: decoded.bytes, round: ledger.last.round, value })
}

function listBoxes({ ledger, path, query }: IndexerCall): RawResponse {
  const applicationId = readId(path)
  const limit = Parameters.limit(query, boxLimits)
  const next = query.get('next')
  const decoded = next === undefined ? undefined : BoxName.decode(next)
  if (decoded !== undefined && 'problem' in decoded) {
    throw new ApiError(400, `LookupApplicationBoxesByID received illegal next token (${next}): ${decoded.problem}`)
  }
  const after = decoded && MapKey.of(decoded.bytes)
  const names = [...ledger.state.boxesOf(applicationId).keys()].sort()
  const rest = after === undefined ? names : names.filter((name) => name > after)
  const page = rest.slice(0, limit)
  return HttpResponse.json({
    'application-id': applicationId,
    boxes: page.map((name) => ({ name: MapKey.bytes(name) })),
    'next-token': rest.length > page.length ? `b64:${base64(page.at(-1)!)}` : undefined,
    round: ledger.last.round,
  })
}

function base64(name: MapKey.MapKey): string {
  return Buffer.from(MapKey.bytes(name)).toString('base64')
}

/** The logs of all calls in the kept blocks, those by other applications included. */
async function listLogs({ ledger, transactions, turns, path, query }: IndexerCall): Promise<RawResponse> {
  const applicationId = readId(path)
  const { minRound, maxRound, transactionId, limit, after } = TransactionFilter.read(query, {
    ignores: ['address', 'address-role', 'application-id', 'group-id'],
  })
  const senderText = query.get('sender-address')
  const sender =
    senderText === undefined ? undefined : Parameters.address(senderText, 'invalid input: unable to parse address: ')
  const filter = { type: 'appl', roles: 0, isRekey: false, amount: { of: 'microAlgos' as const } }
  const page = new Page(limit)
  let last: Entry | undefined
  let currentRound = ledger.last.round
  const restart = (): void => {
    page.clear()
    last = undefined
    currentRound = ledger.last.round
  }
  const take = (entry: Entry): boolean => {
    const { id, logs } = logsOf(entry, applicationId, sender)
    if (logs.length > 0) last = entry
    // The next page begins after the transaction, so all of its logs are on this one.
    let hasRoom = true
    for (const one of logs) hasRoom = page.add({ logs: one, txid: id })
    return hasRoom
  }
  await turns.run((slice) =>
    searchTransactions(
      transactions,
      { ...filter, minRound, maxRound, transactionId, limit, after },
      slice,
      restart,
      take,
    ),
  )
  const others = { 'application-id': applicationId, 'current-round': currentRound }
  if (last === undefined) return HttpResponse.json(others)
  const { block, intra } = last
  const token = NextToken.ofTransaction({ round: block.round, intra })
  return page.toResponse('log-data', { ...others, 'next-token': token })
}

/** The logs of each call of an application that a transaction makes. */
function logsOf({ block, intra }: Entry, applicationId: bigint, sender: MapKey.MapKey | undefined) {
  const { signed, outcome } = block.transactions[intra]!
  if (outcome.delta === undefined) return { id: '', logs: [] }
  const { id, signed: decoded } = Submission.decodeFirst(signed)
  const { txn } = decoded
  if (sender !== undefined && MapKey.of(txn.snd) !== sender) return { id, logs: [] }
  const top = { txn, effects: { ...outcome, delta: Delta.decode(outcome.delta) } }
  const calls = [top, ...Delta.innersOf(outcome.delta)].filter(
    (call) => call.txn.type === 'appl' && (call.txn.apid ?? call.effects.createdAppId) === applicationId,
  )
  return { id, logs: calls.map(({ effects }) => effects.delta?.logs ?? []).filter(({ length }) => length > 0) }
}
