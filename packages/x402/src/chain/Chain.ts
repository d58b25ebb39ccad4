/** A network to pay on: its id, its nodes, its genesis, and the asset that stands for a dollar there. */

import { Algod, type AlgodOptions, type NodeAddress, type SuggestedParameters } from '@latchkey/algod'
import { Address, Bytes, Network } from '@latchkey/algorand'
import * as Price from '../Price.js'

export type ChainOptions = {
  /** `mainnet`, `testnet`, `betanet`, a CAIP-2 id in either form, or `local`: whatever the node says it is. */
  network: string
  /** Addresses of nodes, the first preferred. Public networks have public ones. */
  nodes?: string | NodeAddress | readonly (string | NodeAddress)[] | undefined
  /** The asset in which dollar prices are paid, if it is not the network's USDC. */
  dollarAssetId?: bigint | undefined
  /**
   * In base64: what the node must say its genesis is. Follows from the network; give it only where a network goes by
   * another's name, as a local one that unmodified clients take for TestNet.
   */
  genesisHash?: string | undefined
  timeoutMs?: number | undefined
  fetch?: AlgodOptions['fetch']
}

/** The Algo, where an asset is asked for. */
export const algoAssetId = 0n
const algoDecimals = 6

const publicNodes: { readonly [name: string]: string } = {
  mainnet: 'https://mainnet-api.algonode.cloud',
  testnet: 'https://testnet-api.algonode.cloud',
  betanet: 'https://betanet-api.algonode.cloud',
}
const defaultLocalNode = 'http://127.0.0.1:4001'
const parametersMs = 1_000
const maxAssetsKnown = 1_000

export class Chain {
  /** The canonical id. */
  readonly caip2: string
  readonly algod: Algod
  readonly genesisHash: Uint8Array
  readonly dollarAssetId: bigint | undefined
  readonly #assets = new Map<bigint, Promise<AssetFacts>>()
  #parameters: { at: number; value: Promise<SuggestedParameters> } | undefined

  private constructor(caip2: string, algod: Algod, genesisHash: Uint8Array, dollarAssetId: bigint | undefined) {
    this.caip2 = caip2
    this.algod = algod
    this.genesisHash = genesisHash
    this.dollarAssetId = dollarAssetId
  }

  /** Asks the node only where the network is local; whether a node is of the network is asked with every payment. */
  static async open(options: ChainOptions): Promise<Chain> {
    const { network, timeoutMs, fetch } = options
    const known = Network.known.find(({ name }) => name === network) ?? knownById(network)
    const algod = new Algod({ nodes: nodesOf(options, known), timeoutMs, fetch })
    const isLocal = network === 'local'
    const given = options.genesisHash ?? known?.genesisHash
    const genesisHash = given === undefined ? (await algod.parameters()).genesisHash : fromBase64(given)
    const caip2 = isLocal ? Network.caip2(genesisHash) : (known?.caip2 ?? Network.parse(network).caip2)
    if (options.genesisHash === undefined && Network.caip2(genesisHash) !== caip2) {
      throw new ChainError(`the node is of ${Network.caip2(genesisHash)}, not of ${caip2}`)
    }
    return new Chain(caip2, algod, genesisHash, options.dollarAssetId ?? known?.usdcAssetId)
  }

  matches(network: string): boolean {
    return Network.matches(network, this.caip2)
  }

  /** Fresh enough to pay by, from a node that is of this network: a payment signed for another one is a loss. */
  async parameters(): Promise<SuggestedParameters> {
    const now = performance.now()
    if (this.#parameters === undefined || now - this.#parameters.at > parametersMs) {
      this.#parameters = { at: now, value: this.algod.parameters() }
    }
    const asked = this.#parameters
    try {
      const value = await asked.value
      if (!Bytes.equal(value.genesisHash, this.genesisHash)) {
        throw new ChainError(`the node is of ${Network.caip2(value.genesisHash)}, not of ${this.caip2}`)
      }
      return value
    } catch (error) {
      if (this.#parameters === asked) this.#parameters = undefined
      throw error
    }
  }

  /** Decimals never change; so they are asked for once. */
  asset(assetId: bigint): Promise<AssetFacts> {
    let facts = this.#assets.get(assetId)
    if (facts === undefined) {
      facts = this.#askForAsset(assetId)
      this.#assets.set(assetId, facts)
      facts.catch(() => this.#assets.delete(assetId))
      // Which assets there are to ask about is up to strangers.
      if (this.#assets.size > maxAssetsKnown) this.#assets.delete(this.#assets.keys().next().value!)
    }
    return facts
  }

  async #askForAsset(assetId: bigint): Promise<AssetFacts> {
    if (assetId === algoAssetId) return { assetId, decimals: algoDecimals, name: 'ALGO' }
    if (assetId === knownById(this.caip2)?.usdcAssetId) return { assetId, decimals: 6, name: 'USDC' }
    const found = await this.algod.asset(assetId)
    if (found === undefined) throw new ChainError(`there is no asset ${assetId} on ${this.caip2}`)
    return { assetId, decimals: found.decimals, name: found.unitName ?? `asset ${assetId}` }
  }

  /** What a dollar price comes to, in an asset of this network. */
  async resolvePrice(price: Price.Money, assetId = this.dollarAssetId): Promise<{ assetId: bigint; amount: bigint }> {
    if (assetId === undefined) {
      throw new ChainError(`${this.caip2} has no USDC that is known; say which asset a dollar is paid in`)
    }
    const { decimals, name } = await this.asset(assetId)
    const { ticker } = Price.parse(price)
    const isItsName = ticker === name.toUpperCase() || (ticker === 'USDC' && assetId === this.dollarAssetId)
    if (ticker !== undefined && !isItsName) {
      throw new Price.PriceError(`${JSON.stringify(price)} is not in ${name}, in which it would be paid`)
    }
    return { assetId, amount: Price.baseUnits(price, decimals) }
  }
}

export type AssetFacts = { readonly assetId: bigint; readonly decimals: number; readonly name: string }

/** An asset as requirements name it. */
export function parseAssetId(text: string): bigint | undefined {
  return /^(0|[1-9][0-9]{0,19})$/.test(text) && BigInt(text) < 2n ** 64n ? BigInt(text) : undefined
}

export function checkAddress(address: string, whose: string): void {
  if (!Address.isValid(address)) throw new ChainError(`${whose} is not an Algorand address: ${address.slice(0, 80)}`)
}

function knownById(network: string): Network.Network | undefined {
  try {
    return Network.parse(network).network
  } catch (error) {
    if (error instanceof Network.NetworkError) return undefined
    throw error
  }
}

function nodesOf({ nodes, network }: ChainOptions, known: Network.Network | undefined): NodeAddress[] {
  const given = nodes === undefined ? [] : Array.isArray(nodes) ? nodes : [nodes as string | NodeAddress]
  const addresses = given.map((node: string | NodeAddress) => (typeof node === 'string' ? { url: node } : node))
  if (addresses.length > 0) return addresses
  if (known !== undefined) return [{ url: publicNodes[known.name]! }]
  if (network === 'local') return [{ url: defaultLocalNode }]
  throw new ChainError(`${network} has no public node; give the address of one`)
}

function fromBase64(text: string): Uint8Array {
  const bytes = new Uint8Array(Buffer.from(text, 'base64'))
  if (bytes.length !== 32) throw new ChainError('a genesis hash has 32 bytes, in base64')
  return bytes
}

export class ChainError extends Error {
  override name = 'Chain.ChainError'
}
