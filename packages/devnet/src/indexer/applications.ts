/** Applications, their boxes and logs. Deleted applications are not kept. */
import { Submission } from '@latchkey/algorand'
import type { RawResponse } from '@latchkey/http'
import type { Ledger } from '../ledger/Ledger.js'
import * as MapKey from '../ledger/MapKey.js'
import * as Delta from '../ledger/programs/Delta.js'
import { ApiError } from '../rest/ApiError.js'
import { applicationJson, localJson } from '../rest/applicationEncoding.js'
import * as BoxName from '../rest/BoxName.js'
import * as HttpResponse from '../rest/HttpResponse.js'
import { uint } from '../rest/Parameters.js'
import type { Value } from '../rest/ResponseValue.js'
import { readNextId } from './assets.js'
import type { IndexerCall, IndexerRoute } from './IndexerRoute.js'
import * as Parameters from './Parameters.js'
import * as TransactionFilter from './TransactionFilter.js'

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
  query.flag('include-all')
  const limit = Parameters.limit(query, limits)
  Parameters.checkInt64(only)
  const key = account === undefined ? undefined : Parameters.address(account, badCreator)
  return { only, limit, key, after: readNextId(query) }
}

function pageOf(ids: Iterable<bigint>, { only, limit, after }: ReturnType<typeof readList>) {
  const all = [...ids].sort((a, b) => (a < b ? -1 : 1))
  const rest = all.filter((id) => (only === undefined || id === only) && (after === undefined || id > after))
  const page = rest.slice(0, limit)
  return { page, next: rest.length > page.length ? page.at(-1)!.toString() : undefined }
}

function search(call: IndexerCall, creator: string | undefined): RawResponse {
  const { ledger } = call
  const parameters = readList(call, creator)
  const { key } = parameters
  const ids = key === undefined ? ledger.state.allApplications().keys() : ledger.state.appsCreatedBy(key)
  const { page, next } = pageOf(ids, parameters)
  return HttpResponse.json({
    applications: page.map((id) => applicationValue(ledger, id)),
    'current-round': ledger.last.round,
    'next-token': next,
  })
}

function applicationValue({ state }: Ledger, id: bigint): Value {
  return { deleted: false, id, params: applicationJson(state.application(id)!) }
}

function listLocals(call: IndexerCall): RawResponse {
  const { ledger, path } = call
  const parameters = readList(call, path[0])
  const key = parameters.key!
  const { page, next } = pageOf(ledger.state.appsOptedInBy(key), parameters)
  return HttpResponse.json({
    'apps-local-states': page.map((id) => localJson(id, ledger.state.local(key, id)!)),
    'current-round': ledger.last.round,
    'next-token': next,
  })
}

function readId(path: readonly string[]): bigint {
  const applicationId = uint('application-id', path[0]!)
  Parameters.checkInt64(applicationId)
  return applicationId
}

function lookUp({ ledger, path }: IndexerCall): RawResponse {
  const id = readId(path)
  if (ledger.state.application(id) === undefined) {
    throw new ApiError(404, `no application found for application-id: ${id}`)
  }
  return HttpResponse.json({ application: applicationValue(ledger, id), 'current-round': ledger.last.round })
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
    throw new ApiError(404, `no application found for application-id: ${where}`)
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
function listLogs({ ledger, transactions, path, query }: IndexerCall): RawResponse {
  const applicationId = readId(path)
  TransactionFilter.read(query, { ignores: ['address', 'address-role', 'application-id', 'group-id'] })
  const senderText = query.get('sender-address')
  const sender =
    senderText === undefined ? undefined : Parameters.address(senderText, 'invalid input: unable to parse address: ')
  const [min, max, txid] = [query.uint('min-round'), query.uint('max-round'), query.get('txid')]
  const data: Value[] = []
  for (let sequence = transactions.range.low; sequence < transactions.range.high; sequence++) {
    const entry = transactions.entry(sequence)!
    if (entry.type !== 'appl') continue
    const { round } = entry.block
    if ((min !== undefined && round < min) || (max !== undefined && round > max)) continue
    const { signed, outcome } = entry.block.transactions[entry.intra]!
    if (outcome.delta === undefined) continue
    const decoded = Submission.decodeFirst(signed)
    if (
      (txid !== undefined && decoded.id !== txid) ||
      (sender !== undefined && MapKey.of(decoded.signed.txn.snd) !== sender)
    ) {
      continue
    }
    const top = { txn: decoded.signed.txn, effects: { ...outcome, delta: Delta.decode(outcome.delta) } }
    for (const { txn, effects } of [top, ...Delta.innersOf(outcome.delta)]) {
      const called = txn.apid ?? effects.createdAppId
      const logs = effects.delta?.logs ?? []
      if (txn.type === 'appl' && called === applicationId && logs.length > 0) data.push({ logs, txid: decoded.id })
    }
  }
  return HttpResponse.json({
    'application-id': applicationId,
    'current-round': ledger.last.round,
    'log-data': data.length === 0 ? undefined : data,
  })
}
