/** The node itself: is it there, what is it, how far has it come. */
import * as Consensus from '../ledger/Consensus.js'
import * as Key from '../ledger/Key.js'
import { type Node, TooManyWaitingError } from '../Node.js'
import { version } from '../version.js'
import { uint } from './Parameters.js'
import type { Call, Route } from './Route.js'
import * as Answer from './responses.js'
import type { Value } from './Value.js'

/** As long as a node lets somebody wait. */
const waitMs = 60_000
const maxOffset = 2n ** 63n - 1n
const tooLarge = 'block timestamp offset cannot be larger than max int64 value'

export const statusRoutes: readonly Route[] = [
  { method: 'GET', path: '/health', access: 'open', handle: () => Answer.jsonText('null\n') },
  { method: 'GET', path: '/ready', access: 'open', handle: () => Answer.jsonText('null\n') },
  { method: 'GET', path: '/metrics', access: 'open', handle: ({ node }) => Answer.text(metrics(node)) },
  { method: 'GET', path: '/versions', access: 'open', handle: ({ node }) => Answer.jsonText(versions(node)) },
  { method: 'GET', path: '/genesis', access: 'open', handle: ({ node }) => Answer.jsonText(node.ledger.genesis.json) },
  { method: 'GET', path: '/v2/status', handle: ({ node }) => Answer.json(status(node)) },
  { method: 'GET', path: '/v2/status/wait-for-block-after/{round}', handle: waitForBlock },
  { method: 'GET', path: '/v2/transactions/params', handle: ({ node }) => Answer.json(suggestedParameters(node)) },
  { method: 'GET', path: '/v2/ledger/supply', handle: ({ node }) => Answer.json(supply(node)) },
  { method: 'GET', path: '/v2/devmode/blocks/offset', handle: getOffset },
  { method: 'POST', path: '/v2/devmode/blocks/offset/{offset}', handle: setOffset },
]

function versions({ ledger }: Node): string {
  const { genesisId, genesisHash } = ledger.genesis.chain
  const [major, minor, build] = version.split('.').map(Number)
  // The channel says what this is, so that nobody takes it for a node of a real network.
  return `${JSON.stringify({
    versions: ['v2'],
    genesis_id: genesisId,
    genesis_hash_b64: Buffer.from(Key.bytes(genesisHash)).toString('base64'),
    build: { major, minor, build_number: build, commit_hash: '', branch: 'latchkey', channel: 'devnet' },
  })}\n`
}

function status(node: Node): Value {
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

async function waitForBlock({ node, path, request }: Call) {
  const round = uint('round', path[0]!)
  try {
    // After the last round there can be comes, on nodes, the first one.
    await node.waitForRound(BigInt.asUintN(64, round + 1n), waitMs, (gone) => request.onClose?.(gone))
  } catch (error) {
    if (error instanceof TooManyWaitingError) throw new Answer.ApiError(503, error.message)
    throw error
  }
  return Answer.json(status(node))
}

function suggestedParameters({ ledger }: Node): Value {
  const { genesisId, genesisHash } = ledger.genesis.chain
  return {
    'consensus-version': Consensus.version,
    fee: 0,
    'genesis-hash': Key.bytes(genesisHash),
    'genesis-id': genesisId,
    'last-round': ledger.last.round,
    'min-fee': Consensus.minFeeMicroAlgos,
  }
}

function supply({ ledger }: Node): Value {
  let online = 0n
  let total = 0n
  for (const { status, microAlgos } of ledger.state.allAccounts().values()) {
    if (status === 'Not Participating') continue
    total += microAlgos
    if (status === 'Online') online += microAlgos
  }
  return { current_round: ledger.last.round, 'online-money': online, 'online-stake': online, 'total-money': total }
}

function getOffset({ node }: Call) {
  const { offsetSeconds } = node.ledger.clock.state
  if (offsetSeconds !== undefined) return Answer.json({ offset: offsetSeconds })
  const reason = 'block timestamp offset was never set, using real clock for timestamps'
  throw new Answer.ApiError(404, `failed retrieving timestamp offset from node: ${reason}`)
}

function setOffset({ node, path }: Call) {
  const offset = uint('offset', path[0]!)
  if (offset > maxOffset) throw new Answer.ApiError(400, `failed to set timestamp offset on the node: ${tooLarge}`)
  node.ledger.setOffset(offset)
  return Answer.empty()
}

function metrics({ ledger }: Node): string {
  const lines: [string, string, string, bigint | number][] = [
    ['algod_ledger_round', 'gauge', 'the last round', ledger.last.round],
    ['algod_ledger_transactions_total', 'counter', 'transactions confirmed', ledger.confirmedCount],
    ['algod_tx_pool_count', 'gauge', 'transactions that wait for a block', ledger.pendingTransactions().length],
    ['latchkey_devnet_accounts', 'gauge', 'accounts in the ledger', ledger.state.allAccounts().size],
    ['process_resident_memory_bytes', 'gauge', 'memory in use', process.memoryUsage.rss()],
  ]
  return lines
    .map(([name, type, help, value]) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} ${value}\n`)
    .join('')
}
