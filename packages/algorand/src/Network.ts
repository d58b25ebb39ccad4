/** Algorand networks and their CAIP-2 ids. */

import { BoundedMap } from './BoundedMap.js'
import * as Bytes from './Bytes.js'
import { errors } from './errors.js'
import { LatchkeyError } from './LatchkeyError.js'
import * as Suggestion from './Suggestion.js'

/** A public Algorand network. */
export type Network = {
  name: string
  /** The name in its usual spelling: MainNet. */
  displayName: string
  genesisId: string
  /** Standard base64, as nodes report it. */
  genesisHash: string
  caip2: string
  /** The asset that represents a dollar, with six decimals. */
  usdcAssetId: bigint | undefined
}

const namespace = 'algorand:'
const hashLength = 32
const referenceLength = 32

/** MainNet, where assets have real value. */
export const mainnet: Network = {
  name: 'mainnet',
  displayName: 'MainNet',
  genesisId: 'mainnet-v1.0',
  genesisHash: 'wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=',
  caip2: 'algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k',
  usdcAssetId: 31566704n,
}

/** TestNet. */
export const testnet: Network = {
  name: 'testnet',
  displayName: 'TestNet',
  genesisId: 'testnet-v1.0',
  genesisHash: 'SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=',
  caip2: 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe',
  usdcAssetId: 10458941n,
}

/** BetaNet. */
export const betanet: Network = {
  name: 'betanet',
  displayName: 'BetaNet',
  genesisId: 'betanet-v1.0',
  genesisHash: 'mFgazF+2uRS1tMiL9dsj01hJGySEmPN28B/TjjvpVW0=',
  caip2: 'algorand:mFgazF-2uRS1tMiL9dsj01hJGySEmPN2',
  usdcAssetId: undefined,
}

/** The public networks. */
export const known: readonly Network[] = [mainnet, testnet, betanet]

/**
 * Returns the canonical CAIP-2 id. A reference holds at most 32 characters of the URL-safe alphabet, so the hash is
 * truncated.
 *
 * @throws NetworkError with the code `invalid_genesis_hash`.
 */
export function caip2(genesisHash: Uint8Array | string): string {
  return namespace + Bytes.toBase64Url(hashBytes(genesisHash)).slice(0, referenceLength)
}

/**
 * Returns the older id, with the whole genesis hash in standard base64. It is not valid CAIP-2, but some published
 * packages know no other.
 *
 * @throws NetworkError with the code `invalid_genesis_hash`.
 *
 * @example
 * Network.fullCaip2(Network.testnet.genesisHash) // 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI='
 */
export function fullCaip2(genesisHash: Uint8Array | string): string {
  return namespace + Bytes.toBase64(hashBytes(genesisHash))
}

/** The result of {@link parse}. */
export type Parsed = {
  /** The canonical id, for either input form. */
  caip2: string
  /** The public network of that id, or undefined for a local one. */
  network: Network | undefined
}

/**
 * Parses a CAIP-2 id in the canonical form or in the older one, which has the whole hash in either base64 alphabet.
 *
 * @throws NetworkError with the code `unknown_network`; its hint suggests the network that was probably meant.
 */
export function parse(id: string): Parsed {
  const canonical = normalize(id)
  if (canonical === undefined) {
    throw new NetworkError('unknown_network', 'not a CAIP-2 id of an Algorand network', suggestion(id))
  }
  return { caip2: canonical, network: known.find((network) => network.caip2 === canonical) }
}

/** Returns the canonical id of a network for either input form, or undefined for anything that is not an id. */
export function normalize(id: string): string | undefined {
  const reference = id.startsWith(namespace) ? id.slice(namespace.length) : ''
  if (/^[A-Za-z0-9_-]{32}$/.test(reference)) return id
  const remembered = shortIds.get(reference)
  if (remembered !== undefined) return remembered
  if (fromBase64(reference) === undefined) return undefined
  const shortId = caip2(reference)
  shortIds.set(reference, shortId)
  return shortId
}

/** Cached by whole hash, because each payment compares the same few networks many times. */
const shortIds = new BoundedMap<string, string>(100)

/**
 * Resolves the name of a public network, or a CAIP-2 id like {@link parse}.
 *
 * @throws NetworkError with the code `unknown_network`; its hint suggests the network that was probably meant.
 *
 * @example
 * Network.resolve('testnet').caip2 // 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
 */
export function resolve(nameOrId: string): Parsed {
  const network = known.find(({ name }) => name === nameOrId)
  if (network !== undefined) return { caip2: network.caip2, network }
  if (nameOrId.startsWith(namespace)) return parse(nameOrId)
  const shown = JSON.stringify(nameOrId.slice(0, 80))
  throw new NetworkError('unknown_network', `${shown} is not an Algorand network`, suggestion(nameOrId))
}

/**
 * Returns the display name of a public network, and `local network` for any other.
 *
 * @example
 * Network.displayName('algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe') // 'TestNet'
 */
export function displayName(nameOrId: string): string {
  const id = normalize(nameOrId)
  return known.find(({ name, caip2 }) => name === nameOrId || caip2 === id)?.displayName ?? 'local network'
}

/**
 * Returns the name of a network for use in a sentence, such as `on TestNet` or `on the local network`.
 *
 * @example
 * Network.phrase('local') // 'the local network'
 */
export function phrase(nameOrId: string): string {
  const name = displayName(nameOrId)
  return name === 'local network' ? `the ${name}` : name
}

/**
 * Describes a network in a message: the name of a public network, a local network with its id, and anything else in
 * quotes, because it may come from another party.
 *
 * @example
 * Network.describe('algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe') // 'TestNet'
 * Network.describe('eip155:8453') // 'network "eip155:8453"'
 */
export function describe(nameOrId: string): string {
  const id = normalize(nameOrId)
  const isKnown = known.some(({ name }) => name === nameOrId)
  if (id === undefined && !isKnown && nameOrId !== 'local') return `network ${quote(nameOrId)}`
  const name = phrase(nameOrId)
  return id === undefined || known.some(({ caip2 }) => caip2 === id) ? name : `${name} (${id})`
}

/** Bounded and in ASCII, because some other characters control terminals. */
function quote(text: string): string {
  return JSON.stringify(text.slice(0, maxSuggestedLength)).replace(/[^ -~]/g, '?')
}

/** Whether two ids, each in either form, identify the same network. An invalid id matches nothing. */
export function matches(a: string, b: string): boolean {
  const canonical = normalize(a)
  return canonical !== undefined && canonical === normalize(b)
}

/** Longer text cannot be the name of a network, and comparing it takes time. */
const maxSuggestedLength = 100

function suggestion(text: string): string | undefined {
  if (text.length > maxSuggestedLength) return undefined
  const ids = known.flatMap(({ name, caip2: id, genesisId }) => [name, id, genesisId])
  return Suggestion.didYouMean(text.toLowerCase(), ids) ?? Suggestion.didYouMean(text, ids)
}

function hashBytes(genesisHash: Uint8Array | string): Uint8Array {
  const bytes = typeof genesisHash === 'string' ? fromBase64(genesisHash) : genesisHash
  if (bytes?.length === hashLength) return bytes
  throw new NetworkError('invalid_genesis_hash', `a genesis hash has ${hashLength} bytes`)
}

/** Returns the 32 bytes, or undefined unless the text is exactly one hash in base64. */
function fromBase64(text: string): Uint8Array | undefined {
  if (!/^([A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=?$/.test(text)) return undefined
  return Bytes.fromBase64Url(text.replaceAll('+', '-').replaceAll('/', '_').replace('=', ''))
}

type NetworkErrorCode = 'unknown_network' | 'invalid_genesis_hash'

/** The text or hash does not identify an Algorand network. */
export class NetworkError extends LatchkeyError<NetworkErrorCode> {
  override name = 'NetworkError'

  constructor(code: NetworkErrorCode, message: string, hint: string = errors[code].hint) {
    super(code, message, { hint })
  }
}
