/** A network to pay on: its id, its nodes, its genesis, and the asset that represents a dollar there. */

import { Algod, AlgodError, type AlgodOptions, type NodeAddress, type SuggestedParameters } from '@latchkey/algod'
import { Address, Amount, BoundedMap, Bytes, Network, Suggestion } from '@latchkey/algorand'
import { decodeBase64, Prices } from '@latchkey/x402-wire'
import { OptionsError, PartyError } from '../errors.js'

/** Options of {@link Chain.open}. */
export type ChainOptions = {
  /**
   * `mainnet`, `testnet`, `betanet`, a CAIP-2 id in either form, or `local` for the network that the node belongs to.
   */
  network: string
  /**
   * Addresses of nodes, the preferred one first.
   *
   * @default a public node of the network; `http://127.0.0.1:4001` for `local`
   */
  nodes?: string | NodeAddress | readonly (string | NodeAddress)[] | undefined
  /**
   * How many nodes must report that a payment is not in the ledger before the report counts. With 2, a single node that
   * lies or lags cannot make a payment look expired.
   *
   * @default 1
   */
  quorum?: number | undefined
  /**
   * The asset used to pay prices in dollars.
   *
   * @default the network's USDC; for `local`, the devnet's initial USDC if it exists
   */
  dollarAssetId?: bigint | undefined
  /**
   * The genesis hash that the node must report, in base64. Needed only for a network that uses another network's name,
   * such as a local network that unmodified clients treat as TestNet.
   *
   * @default the genesis hash of the network
   */
  genesisHash?: string | undefined
  /**
   * How long one node may take to respond.
   *
   * @default 10_000
   */
  timeoutMs?: number | undefined
  /**
   * Sends the requests to the nodes.
   *
   * @default the `fetch` of `@latchkey/algod`
   */
  fetch?: AlgodOptions['fetch']
}

/** The properties of an asset that a payment depends on. */
export type AssetInfo = { readonly assetId: bigint; readonly decimals: number; readonly name: string }

/** The asset id that stands for ALGO. */
export const algoAssetId = 0n

const publicNodes: { readonly [name: string]: string } = {
  mainnet: 'https://mainnet-api.algonode.cloud',
  testnet: 'https://testnet-api.algonode.cloud',
  betanet: 'https://betanet-api.algonode.cloud',
}
const defaultLocalNode = 'http://127.0.0.1:4001'
const parametersMs = 1_000
const maxAssets = 1_000

/** A network to pay on, opened by {@link Chain.open}. */
export class Chain {
  /** The canonical CAIP-2 id. */
  readonly caip2: string
  /**
   * The ids of the network: the older one with the whole genesis hash, then the canonical one. Some published buyers
   * read only the first offer and know only the older id.
   */
  readonly ids: readonly string[]
  /** The client of the network's nodes. */
  readonly algod: Algod
  readonly genesisHash: Uint8Array
  /** True for a network that is not public, such as a devnet. */
  readonly isLocal: boolean
  /** The asset used to pay prices in dollars; undefined if there is none. */
  readonly dollarAssetId: bigint | undefined
  /** Bounded, because sellers choose which assets are looked up. */
  readonly #assets = new BoundedMap<bigint, Promise<AssetInfo>>(maxAssets)
  #parameters: { requestedMs: number; value: Promise<SuggestedParameters> } | undefined

  private constructor(caip2: string, algod: Algod, genesisHash: Uint8Array, dollarAssetId: bigint | undefined) {
    this.caip2 = caip2
    this.ids = idsOf(caip2, genesisHash)
    this.isLocal = !Network.known.some((known) => known.caip2 === caip2)
    this.algod = algod
    this.genesisHash = genesisHash
    this.dollarAssetId = dollarAssetId
  }

  /**
   * Opens a network. Queries the node only if the network is local. Every payment checks that the node belongs to the
   * network.
   *
   * @throws {@link ChainError} for a network, node or genesis hash that cannot be used
   * @throws AlgodError if the network is local and no node responds
   * @example
   * const chain = await Chain.open({ network: 'testnet' })
   */
  static async open(options: ChainOptions): Promise<Chain> {
    const { network, timeoutMs, quorum, fetch } = options
    const isLocal = network === 'local'
    const parsed = isLocal ? undefined : parseNetwork(network)
    const known = parsed?.network
    const algod = new Algod({ nodes: nodesOf(options, known), timeoutMs, quorum, fetch })
    const given = options.genesisHash ?? known?.genesisHash
    const genesisHash = given === undefined ? (await algod.parameters()).genesisHash : readGenesisHash(given)
    const caip2 = parsed?.caip2 ?? Network.caip2(genesisHash)
    if (options.genesisHash === undefined) checkNetwork(genesisHash, caip2)
    algod.setGenesis(genesisHash)
    const isPublic = Network.known.some((one) => one.caip2 === caip2)
    const dollarAssetId = known?.usdcAssetId ?? (isPublic || !isLocal ? undefined : await localDollar(algod, options))
    return new Chain(caip2, algod, genesisHash, options.dollarAssetId ?? dollarAssetId)
  }

  /** Whether a CAIP-2 id, in either form, names this network. */
  matches(network: string): boolean {
    return Network.matches(network, this.caip2)
  }

  /**
   * Parameters for a new transaction, at most a second old. Checks that the node belongs to this network, because a
   * payment signed for another network is a loss.
   *
   * @throws {@link ChainError} if the node belongs to another network
   * @throws AlgodError if no node responds
   */
  async parameters(): Promise<SuggestedParameters> {
    const now = performance.now()
    if (this.#parameters === undefined || now - this.#parameters.requestedMs > parametersMs) {
      this.#parameters = { requestedMs: now, value: this.algod.parameters() }
    }
    const cached = this.#parameters
    try {
      const value = await cached.value
      if (!Bytes.equal(value.genesisHash, this.genesisHash)) throw wrongNetwork(value.genesisHash, this.caip2)
      return value
    } catch (error) {
      if (this.#parameters === cached) this.#parameters = undefined
      throw error
    }
  }

  /**
   * Returns the name and decimals of an asset. The result is cached, because the decimals of an asset never change.
   *
   * @throws {@link ChainError} if the asset does not exist
   * @throws AlgodError if no node responds
   */
  asset(assetId: bigint): Promise<AssetInfo> {
    let info = this.#assets.get(assetId)
    if (info === undefined) {
      info = this.#lookUpAsset(assetId)
      this.#assets.set(assetId, info)
      info.catch(() => this.#assets.delete(assetId))
    }
    return info
  }

  async #lookUpAsset(assetId: bigint): Promise<AssetInfo> {
    if (assetId === algoAssetId) return { assetId, decimals: Amount.algoDecimals, name: 'ALGO' }
    const known = Network.known.find(({ caip2 }) => caip2 === this.caip2)
    if (assetId === known?.usdcAssetId) return { assetId, decimals: 6, name: 'USDC' }
    const found = await this.algod.asset(assetId)
    if (found === undefined)
      throw new ChainError('unknown_asset', `there is no asset ${assetId} on ${Network.describe(this.caip2)}`)
    return { assetId, decimals: found.decimals, name: found.unitName ?? `asset ${assetId}` }
  }

  /**
   * Converts a price in dollars to base units of an asset on this network.
   *
   * @param assetId the asset used to pay; by default the one that represents a dollar
   * @throws PriceError for a price that cannot be paid in the asset
   * @throws {@link ChainError} if the asset does not exist
   * @throws AlgodError if no node responds
   */
  async resolvePrice(price: Prices.Money, assetId = this.dollarAssetId): Promise<{ assetId: bigint; amount: bigint }> {
    if (assetId === undefined) {
      throw new ChainError('missing_dollar_asset', `${Network.describe(this.caip2)} has no known USDC`)
    }
    const { decimals, name } = await this.asset(assetId)
    const { ticker } = Prices.parse(price)
    const isItsName = ticker === name.toUpperCase() || (ticker === 'USDC' && assetId === this.dollarAssetId)
    if (ticker !== undefined && !isItsName) {
      const message = `${JSON.stringify(price)} is not in ${name}, the asset it would be paid in`
      throw new Prices.PriceError('wrong_currency', message)
    }
    return { assetId, amount: Prices.baseUnits(price, decimals) }
  }
}

/** The devnet's dollar has the id that USDC has on MainNet. Other local networks may use that id for another asset. */
async function localDollar(algod: Algod, options: ChainOptions): Promise<bigint | undefined> {
  if (options.dollarAssetId !== undefined) return undefined
  try {
    const assetId = Network.mainnet.usdcAssetId!
    const found = await algod.asset(assetId)
    return found?.unitName === 'USDC' && found.decimals === 6 ? assetId : undefined
  } catch (error) {
    if (error instanceof AlgodError) return undefined
    throw error
  }
}

/**
 * Returns both ids, or only the canonical one if the network uses another network's id whose whole hash is not known.
 */
function idsOf(caip2: string, genesisHash: Uint8Array): readonly string[] {
  const full = Network.fullCaip2(Network.parse(caip2).network?.genesisHash ?? genesisHash)
  return Network.matches(full, caip2) ? [full, caip2] : [caip2]
}

/** Parses an asset id from payment requirements; undefined if the text is not an asset id. */
export function parseAssetId(text: string): bigint | undefined {
  return /^(0|[1-9][0-9]{0,19})$/.test(text) && BigInt(text) < 2n ** 64n ? BigInt(text) : undefined
}

/**
 * Accepts any value, because programs read addresses from the environment.
 *
 * @throws {@link ChainError}
 */
export function checkAddress(address: unknown, name: string): asserts address is string {
  if (isAddress(address)) {
    if (!Bytes.isZero(Address.decode(address))) return
    throw new ChainError('invalid_address', `${name} is the zero address, which has no key: payments to it are lost`)
  }
  const problem = isUnset(address) ? 'is not set' : `is not an Algorand address: ${String(address).slice(0, 80)}`
  throw new ChainError('invalid_address', `${name} ${problem}`)
}

/** Whether the value is an Algorand address. */
export function isAddress(value: unknown): value is string {
  return typeof value === 'string' && Address.isValid(value)
}

/** True for undefined, null and the empty string, which an unset environment variable may produce. */
export function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/**
 * Normalizes an option that takes one chain or several.
 *
 * @throws OptionsError if the list is empty or contains anything other than chains
 */
export function chainList(chains: Chain | readonly Chain[]): readonly Chain[] {
  const list = (Array.isArray(chains) ? chains : [chains]) as readonly (Chain | undefined)[]
  const hint = 'Pass chains that `await Chain.open(...)` returned.'
  if (list.length === 0) throw new OptionsError('chains is empty', hint)
  if (list.some(isUnset)) throw new OptionsError('chains is not set', hint)
  if (list.some((one) => typeof one?.matches !== 'function')) {
    throw new OptionsError('chains contains a value that is not a chain', hint)
  }
  return list as readonly Chain[]
}

/** Common names for a local network. */
const localNames = ['local', 'localnet', 'localhost', 'devnet']

/** Whether the text is a name of a local network, or close to one. */
export function isLocalName(text: string): boolean {
  const names = [...localNames, ...Network.known.map(({ name }) => name)]
  return localNames.includes(Suggestion.closest(text.slice(0, 80).toLowerCase(), names) ?? '')
}

function parseNetwork(network: string): Network.Parsed {
  if (isUnset(network)) throw new ChainError('unknown_network', 'network is not set')
  try {
    return Network.resolve(network)
  } catch (error) {
    if (!(error instanceof Network.NetworkError)) throw error
    const hint = isLocalName(network) ? 'did you mean local?' : error.hint
    throw new ChainError('unknown_network', error.message, { hint, cause: error })
  }
}

function nodesOf({ nodes, network }: ChainOptions, known: Network.Network | undefined): NodeAddress[] {
  const given = nodes === undefined ? [] : Array.isArray(nodes) ? nodes : [nodes as string | NodeAddress]
  const addresses = given.map((node: string | NodeAddress) => (typeof node === 'string' ? { url: node } : node))
  if (addresses.length > 0) return addresses
  if (known !== undefined) return [{ url: publicNodes[known.name]! }]
  if (network === 'local') return [{ url: defaultLocalNode }]
  throw new ChainError('missing_node', `${Network.describe(network)} has no public node`)
}

function readGenesisHash(text: string): Uint8Array {
  const bytes = decodeBase64(text)
  if (bytes?.length !== 32) throw new ChainError('invalid_genesis_hash', 'genesisHash is not 32 bytes in base64')
  return bytes
}

function checkNetwork(genesisHash: Uint8Array, caip2: string): void {
  if (Network.caip2(genesisHash) !== caip2) throw wrongNetwork(genesisHash, caip2)
}

function wrongNetwork(genesisHash: Uint8Array, expected: string): ChainError {
  const [its, wanted] = [Network.caip2(genesisHash), expected].map(Network.describe)
  return new ChainError('wrong_network', `the node belongs to ${its}, not to ${wanted}`)
}

type ChainErrorCode =
  | 'unknown_network'
  | 'wrong_network'
  | 'missing_node'
  | 'invalid_genesis_hash'
  | 'unknown_asset'
  | 'missing_dollar_asset'
  | 'unsupported_network'
  | 'invalid_address'

/** A network, node, asset or address that cannot be used. */
export class ChainError extends PartyError<ChainErrorCode> {
  override name = 'ChainError'
}

/**
 * The ids under which sellers offer a network and facilitators list it: `both` uses the CAIP-2 id of the standard and
 * the id with the whole genesis hash, which older programs compare; `canonical` uses the standard's id alone.
 */
export type NetworkIds = 'both' | 'canonical'

/** @throws OptionsError for another value */
export function checkedNetworkIds(networkIds: NetworkIds = 'both'): NetworkIds {
  if (networkIds === 'both' || networkIds === 'canonical') return networkIds
  throw new OptionsError(`networkIds cannot be ${JSON.stringify(networkIds)}`, 'Use "both" or "canonical".')
}
