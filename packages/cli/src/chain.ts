/** The network and its nodes, from the options of a command. */
import { Network, Suggestion } from '@latchkey/algorand'
import { Chain, ChainError } from '@latchkey/x402/client'
import { type Option, readInteger, readNumber } from './Command.js'
import { UsageError } from './errors.js'
import { quoted } from './format.js'

type Environment = { readonly [name: string]: string | undefined }

export const chainOptions = {
  network: {
    type: 'string',
    placeholder: 'NETWORK',
    suggestions: ['testnet', 'mainnet', 'betanet', 'local'],
    description: 'testnet (the default), mainnet, betanet, local, or a CAIP-2 id',
  },
  node: {
    type: 'string',
    multiple: true,
    placeholder: 'URL',
    description: 'URL of an algod of that network; repeatable for failover',
  },
  dollar: { type: 'string', placeholder: 'ID', description: 'id of the dollar asset on a local network' },
} as const satisfies { [name: string]: Option }

/** For commands that decide something by its absence from the ledger. */
export const quorumOption = {
  quorum: {
    type: 'string',
    placeholder: 'N',
    description: 'number of nodes that must agree that a payment is not in the ledger (1)',
  },
} as const satisfies { [name: string]: Option }

export type ChainValues = {
  readonly network?: string | undefined
  readonly node?: string[] | undefined
  readonly dollar?: string | undefined
  readonly quorum?: string | undefined
}

const networkNames = [...Network.known.map(({ name }) => name), 'local']

export function networkOf(given: ChainValues, environment: Environment): string {
  const network = given.network ?? (environment['AVM_NETWORK'] || 'testnet')
  if (networkNames.includes(network) || network.startsWith('algorand:')) return network
  throw new UsageError(`unknown network ${quoted(network)}`, {
    code: 'invalid_value',
    hint: Suggestion.didYouMean(network.toLowerCase(), networkNames) ?? `use ${networkNames.join(', ')} or a CAIP-2 id`,
  })
}

export type OpenOptions = {
  /** For commands that only read: a node determines its network. @default false */
  readonly isReadOnly?: boolean | undefined
}

/**
 * Opens the network, and asks the node of a local network for its identity.
 *
 * @throws UsageError if a local network turns out to be MainNet: real money requires an explicit option
 */
export async function openChain(
  given: ChainValues,
  environment: Environment,
  { isReadOnly = false }: OpenOptions = {},
): Promise<Chain> {
  const { ALGOD_TOKEN: token, USDC_ASSET_ID: asset = '' } = environment
  const node = nodesOf(given, environment)
  const dollar = given.dollar ?? (isOwnNetwork(given, environment) && asset !== '' ? asset : undefined)
  const network = networkOf(given, environment)
  const quorum = readQuorum(given.quorum, node ?? [])
  const chain = await Chain.open({
    network,
    nodes: node?.map((one) => ({ url: one, token })),
    quorum,
    dollarAssetId: readInteger('--dollar', dollar),
  })
  if (!isReadOnly && network === 'local' && isMainnet(chain.caip2)) {
    throw new UsageError('the node belongs to MainNet, where money is real, not to a local network', {
      code: 'invalid_value',
      hint: 'give --network mainnet if that is intended, or another node with --node',
    })
  }
  return chain
}

/** A node and an asset in the environment belong to the network there, not to another one given by --network. */
function isOwnNetwork({ network }: ChainValues, environment: Environment): boolean {
  return network === undefined || network === environment['AVM_NETWORK']
}

function nodesOf(given: ChainValues, environment: Environment): readonly string[] | undefined {
  const { ALGOD_URL: url = '' } = environment
  return given.node ?? (isOwnNetwork(given, environment) && url !== '' ? [url] : undefined)
}

/** A server starts although a node does not respond, and does not wait longer for one. */
const checkTimeoutMs = 3_000

/**
 * Checks that every node that responds belongs to the network, for servers: otherwise each of their requests would fail,
 * or those that another node fails to answer.
 *
 * @throws UsageError that names the node of another network
 */
export async function checkNodes({ caip2 }: Chain, given: ChainValues, environment: Environment): Promise<void> {
  const { ALGOD_TOKEN: token } = environment
  const check = async (url: string): Promise<void> => {
    try {
      const chain = await Chain.open({ network: caip2, nodes: { url, token }, timeoutMs: checkTimeoutMs })
      await chain.parameters()
    } catch (error) {
      if (!(error instanceof ChainError) || error.code !== 'wrong_network') return
      throw new UsageError(`${url}: ${error.message}`, {
        code: 'invalid_value',
        cause: error,
        hint: 'give a node of the network with --node, or the network of the node with --network',
      })
    }
  }
  await Promise.all((nodesOf(given, environment) ?? []).map(check))
}

/** The same node twice does not form a quorum. */
function readQuorum(text: string | undefined, nodes: readonly string[]): number | undefined {
  const quorum = readNumber('--quorum', text, 1, 16)
  const different = new Set(nodes.map((url) => (URL.canParse(url) ? new URL(url).href : url))).size
  if (quorum === undefined || quorum === 1 || quorum <= different) return quorum
  throw new UsageError(`--quorum ${quorum} requires ${quorum} different nodes, but ${different} are given`, {
    code: 'invalid_value',
    hint: 'give each node with --node',
  })
}

/** Opens the network for a command that only reads. If only a node is given, its network is used. */
export function openReadingChain(given: ChainValues, environment: Environment): Promise<Chain> {
  const { ALGOD_URL: url = '', AVM_NETWORK: network = '' } = environment
  const isByNode = given.network === undefined && network === '' && (given.node !== undefined || url !== '')
  const values = isByNode ? { ...given, network: 'local', node: given.node ?? [url] } : given
  return openChain(values, environment, { isReadOnly: true })
}

/** Whether a name or a CAIP-2 id, in either form, is that of MainNet. */
export function isMainnet(network: string): boolean {
  return network === Network.mainnet.name || Network.matches(network, Network.mainnet.caip2)
}
