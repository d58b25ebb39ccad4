/** The node itself: health, versions, genesis, status, supply, and the clock. */

import * as Prometheus from '@latchkey/system/prometheus'
import type { DevnetNode } from '../DevnetNode.js'
import { DevnetError } from '../errors.js'
import * as Consensus from '../ledger/Consensus.js'
import * as MapKey from '../ledger/MapKey.js'
import { version } from '../version.js'
import { ApiError } from './ApiError.js'
import type { Value } from './HttpResponse.js'
import * as HttpResponse from './HttpResponse.js'
import { type Route, type RouteContext, uint } from './Route.js'

/** The same as algod's limit for waiting requests. */
const waitMs = 60_000
const maxOffset = 2n ** 63n - 1n
const tooLarge = 'block timestamp offset cannot be larger than max int64 value'

export const statusRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/health',
    summary: 'Whether the node is running',
    access: 'open',
    handle: () => HttpResponse.jsonText('null\n'),
  },
  {
    method: 'GET',
    path: '/ready',
    summary: 'Whether the node is ready',
    access: 'open',
    handle: () => HttpResponse.jsonText('null\n'),
  },
  {
    method: 'GET',
    path: '/metrics',
    summary: 'Metrics for Prometheus',
    access: 'open',
    handle: ({ node }) => HttpResponse.text(metrics(node)),
  },
  {
    method: 'GET',
    path: '/versions',
    summary: 'The build and the network',
    access: 'open',
    handle: ({ node }) => HttpResponse.jsonText(versions(node)),
  },
  {
    method: 'GET',
    path: '/genesis',
    summary: 'The genesis document',
    access: 'open',
    handle: ({ node }) => HttpResponse.jsonText(node.ledger.genesis.json),
  },
  {
    method: 'GET',
    path: '/v2/status',
    summary: 'The state of the node',
    handle: ({ node }) => HttpResponse.json(status(node)),
  },
  {
    method: 'GET',
    path: '/v2/status/wait-for-block-after/{round}',
    summary: 'Waits for the block after a round',
    handle: waitForBlock,
  },
  {
    method: 'GET',
    path: '/v2/transactions/params',
    summary: 'Suggested parameters of a new transaction',
    handle: ({ node }) => HttpResponse.json(suggestedParameters(node)),
  },
  {
    method: 'GET',
    path: '/v2/ledger/supply',
    summary: 'The supply of ALGO',
    handle: ({ node }) => HttpResponse.json(supply(node)),
  },
  {
    method: 'GET',
    path: '/v2/node/peers',
    summary: 'The connected nodes: none',
    handle: () => HttpResponse.json({ Peers: [] }),
  },
  {
    method: 'GET',
    path: '/v2/devmode/blocks/offset',
    summary: 'The seconds between blocks, if they are set',
    handle: getOffset,
  },
  {
    method: 'POST',
    path: '/v2/devmode/blocks/offset/{offset}',
    summary: 'Sets the seconds between blocks',
    handle: setOffset,
  },
]

function versions({ ledger }: DevnetNode): string {
  const { genesisId, genesisHash } = ledger.genesis.chain
  const [major, minor, build] = version.split('.').map(Number)
  // The channel distinguishes it from a node of a real network.
  return `${JSON.stringify({
    versions: ['v2'],
    genesis_id: genesisId,
    genesis_hash_b64: Buffer.from(MapKey.bytes(genesisHash)).toString('base64'),
    build: { major, minor, build_number: build, commit_hash: '', branch: 'latchkey', channel: 'devnet' },
  })}\n`
}

function status(node: DevnetNode): Value {
  const round = node.ledger.last.round
  return {
    catchpoint: '',
    'catchpoint-acquired-blocks': 0,
    'catchpoint-processed-accounts': 0,
    'catchpoint-processed-kvs': 0,
    'catchpoint-total-accounts': 0,
    'catchpoint-total-blocks': 0,
    'catchpoint-total-kvs': 0,
    'catchpoint-verified-accounts': 0,
    'catchpoint-verified-kvs': 0,
    'catchup-time': 0,
    'last-catchpoint': '',
    'last-round': round,
    'last-version': Consensus.version,
    'next-version': Consensus.version,
    'next-version-round': round + 1n,
    'next-version-supported': true,
    'stopped-at-unsupported-round': false,
    'time-since-last-round': BigInt(Math.round(node.msSinceLastBlock * 1e6)),
  }
}

async function waitForBlock({ node, path, request }: RouteContext) {
  const round = uint('round', path[0]!)
  try {
    // On nodes, the round after the largest wraps around to 0.
    await node.waitForRound(BigInt.asUintN(64, round + 1n), waitMs, (gone) => request.onClose?.(gone))
  } catch (error) {
    if (error instanceof DevnetError) throw new ApiError(503, error.message)
    throw error
  }
  return HttpResponse.json(status(node))
}

function suggestedParameters({ ledger }: DevnetNode): Value {
  const { genesisId, genesisHash } = ledger.genesis.chain
  return {
    'consensus-version': Consensus.version,
    fee: 0,
    'genesis-hash': MapKey.bytes(genesisHash),
    'genesis-id': genesisId,
    'last-round': ledger.last.round,
    'min-fee': Consensus.minFeeMicroAlgos,
  }
}

function supply({ ledger }: DevnetNode): Value {
  const { Online, Offline } = ledger.state.totals
  const online = Online.microAlgos
  const total = online + Offline.microAlgos
  const { round } = ledger.last
  const stake = ledger.onlineStake.countedIn(round)
  return { current_round: round, 'online-money': online, 'online-stake': stake, 'total-money': total }
}

function getOffset({ node }: RouteContext) {
  const { offsetSeconds } = node.ledger.clock.state
  if (offsetSeconds !== undefined) return HttpResponse.json({ offset: offsetSeconds })
  const reason = 'block timestamp offset was never set, using real clock for timestamps'
  throw new ApiError(404, `failed retrieving timestamp offset from node: ${reason}`)
}

function setOffset({ node, path }: RouteContext) {
  const offset = uint('offset', path[0]!)
  if (offset > maxOffset) throw new ApiError(400, `failed to set timestamp offset on the node: ${tooLarge}`)
  node.ledger.setOffset(offset)
  return HttpResponse.empty()
}

function metrics({ ledger }: DevnetNode): string {
  const metrics: [string, 'counter' | 'gauge', string, bigint | number][] = [
    ['algod_ledger_round', 'gauge', 'the last round', ledger.last.round],
    ['algod_ledger_transactions_total', 'counter', 'transactions confirmed', ledger.confirmedCount],
    // Corresponds to the node's algod_tx_pool_count; promtool refuses that suffix for a gauge.
    ['algod_tx_pool_transactions', 'gauge', 'transactions waiting for a block', ledger.pendingTransactions().length],
    ['latchkey_devnet_accounts', 'gauge', 'accounts in the ledger', ledger.state.allAccounts().size],
    ['process_resident_memory_bytes', 'gauge', 'memory in use', process.memoryUsage.rss()],
  ]
  return Prometheus.write(metrics.map(([name, type, help, value]) => ({ name, type, help, samples: [{ value }] })))
}
