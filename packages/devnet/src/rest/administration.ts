/**
 * Administration of a node. Nothing here changes the ledger: a devnet has no peers from which it could catch up, and no
 * profiler.
 */
import { Json } from '@latchkey/algorand'
import type { RawAnswer } from '@latchkey/http'
import type { DevnetNode } from '../DevnetNode.js'
import { ApiError } from './ApiError.js'
import * as HttpResponse from './HttpResponse.js'
import { problemOfUint, type Route, type RouteContext } from './Route.js'

export const administrationRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v2/catchup/{catchpoint}',
    summary: 'Starts a catch-up, which fails without peers',
    query: ['min'],
    handle: startCatchup,
  },
  { method: 'DELETE', path: '/v2/catchup/{catchpoint}', summary: 'Ends a catch-up', handle: abortCatchup },
  { method: 'GET', path: '/debug/settings/config', summary: 'The configuration', handle: configuration },
  { method: 'GET', path: '/debug/settings/pprof', summary: 'The rates of the profiler', handle: getRates },
  { method: 'PUT', path: '/debug/settings/pprof', summary: 'Sets the rates of the profiler', handle: setRates },
  // Nodes describe this request, and do not implement it.
  { method: 'POST', path: '/v2/shutdown', handle: shutdown },
  { method: 'POST', path: '/v2/node/shutdown', handle: shutdown },
]

function startCatchup({ node, path, query }: RouteContext): RawAnswer {
  const min = query.uint('min') ?? 0n
  const catchpoint = path[0]!
  const round = roundOf(catchpoint)
  if (min > 0n && round < BigInt.asUintN(64, node.ledger.last.round + min)) {
    return HttpResponse.json({ 'catchup-message': 'the node has already been initialized' })
  }
  const reason = 'aborting catchup Start(): no peer pools available'
  throw new ApiError(408, `unable to start catchpoint service for requested catchpoint ${catchpoint}: ${reason}`)
}

function abortCatchup({ path }: RouteContext): RawAnswer {
  roundOf(path[0]!)
  return HttpResponse.json({ 'catchup-message': path[0]! })
}

/** The round of a catchpoint, which is followed by up to 32 bytes in base32. */
function roundOf(catchpoint: string): bigint {
  const [round = '', hash, ...rest] = catchpoint.split('#')
  // The base32 of a node accepts groups of any length, and ignores line breaks.
  const isHash = hash !== undefined && /^[A-Z2-7]{0,52}$/.test(hash.replace(/[\r\n]/g, ''))
  if (!isHash || rest.length > 0 || problemOfUint(round) !== undefined) {
    throw new ApiError(400, 'failed to parse catchpoint')
  }
  return BigInt(round)
}

/** The members of a node's configuration that have a meaning here. */
function configuration({ node }: RouteContext): RawAnswer {
  return HttpResponse.json({
    Version: 38,
    Archival: node.ledger.isArchival,
    DisableNetworking: true,
    EnableDeveloperAPI: true,
    EnableExperimentalAPI: false,
    EnableFollowMode: false,
    EnablePrivateNetworkAccessHeader: true,
    EnableProfiler: false,
    MaxAPIBoxPerApplication: 100_000,
    MaxAPIResourcesPerAccount: 100_000,
  })
}

const rateNames = ['block-rate', 'mutex-rate'] as const
const maxRatesBytes = 128
const maxRate = 2n ** 31n - 1n

function getRates({ node }: RouteContext): RawAnswer {
  return HttpResponse.json({ ...node.profileRates })
}

/** Returns the earlier rates of those that are set. */
async function setRates({ node, request }: RouteContext): Promise<RawAnswer> {
  const body = await request.body()
  if (body.length > maxRatesBytes) throw new ApiError(400, 'http: request body too large')
  const text = body.toString('utf8').trim()
  if (text === '') throw new ApiError(400, 'failed to decode object: EOF')
  const rates = readRates(text)
  if (Object.values(rates).some((rate) => rate > maxRate)) {
    throw new ApiError(400, 'blocking rate cannot be larger than max int32 value')
  }
  const names = rateNames.filter((name) => name in rates)
  const before = Object.fromEntries(names.map((name) => [name, node.profileRates[name]]))
  Object.assign(node.profileRates, rates)
  return HttpResponse.json(before)
}

function readRates(text: string): Partial<DevnetNode['profileRates']> {
  try {
    const value = Json.parse(text) ?? {}
    if (!Json.isObject(value)) throw new SyntaxError('expected an object')
    const rates = Object.entries(value).map(([name, rate]) => [known(name), rate] as const)
    return Object.fromEntries(rates.filter(([, rate]) => rate !== null).map(([name, rate]) => [name, unsigned(rate)]))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new ApiError(400, `failed to decode object: ${error.message}`)
  }
}

function known(name: string): string {
  if (rateNames.some((one) => one === name)) return name
  throw new SyntaxError(`no matching struct field found when decoding stream map with key ${name}`)
}

function unsigned(value: unknown): bigint {
  const rate = Json.uint64(value)
  if (rate === undefined) throw new SyntaxError('a rate is not an unsigned integer')
  return rate
}

function shutdown(): RawAnswer {
  return HttpResponse.text('Endpoint not implemented.', 501, 'text/plain; charset=UTF-8')
}
