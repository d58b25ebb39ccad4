/** A public Algorand network. */
export type Network = {
  name: string
  genesisId: string
  /** Standard base64, as nodes report it. */
  genesisHash: string
  caip2: string
  /** The asset that stands for a dollar there, with six decimals. */
  usdcAssetId: bigint | undefined
}

const namespace = 'algorand:'
const hashLength = 32
const referenceLength = 32

export const mainnet: Network = {
  name: 'mainnet',
  genesisId: 'mainnet-v1.0',
  genesisHash: 'wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=',
  caip2: 'algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k',
  usdcAssetId: 31566704n,
}

export const testnet: Network = {
  name: 'testnet',
  genesisId: 'testnet-v1.0',
  genesisHash: 'SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=',
  caip2: 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe',
  usdcAssetId: 10458941n,
}

export const betanet: Network = {
  name: 'betanet',
  genesisId: 'betanet-v1.0',
  genesisHash: 'mFgazF+2uRS1tMiL9dsj01hJGySEmPN28B/TjjvpVW0=',
  caip2: 'algorand:mFgazF-2uRS1tMiL9dsj01hJGySEmPN2',
  usdcAssetId: undefined,
}

export const known: readonly Network[] = [mainnet, testnet, betanet]

/** The canonical CAIP-2 id: a reference holds at most 32 characters of the URL-safe alphabet, so the hash is cut. */
export function caip2(genesisHash: Uint8Array | string): string {
  const bytes = typeof genesisHash === 'string' ? fromBase64(genesisHash) : genesisHash
  if (bytes?.length !== hashLength) throw new InvalidError(`a genesis hash has ${hashLength} bytes`)
  return namespace + Buffer.from(bytes).toString('base64url').slice(0, referenceLength)
}

export type Parsed = {
  /** The canonical id, whichever form was given. */
  caip2: string
  /** The public network of that id; undefined for a local one. */
  network: Network | undefined
}

/** Reads a CAIP-2 id in the canonical form or in the older one, which has the whole hash in either base64 alphabet. */
export function parse(id: string): Parsed {
  const reference = id.startsWith(namespace) ? id.slice(namespace.length) : ''
  let canonical: string
  if (/^[A-Za-z0-9_-]{32}$/.test(reference)) canonical = id
  else if (fromBase64(reference) !== undefined) canonical = caip2(reference)
  else throw new InvalidError('not a CAIP-2 id of an Algorand network')
  return { caip2: canonical, network: known.find((network) => network.caip2 === canonical) }
}

/** Whether two ids, each in either form, name the same network. Anything that is no such id matches nothing. */
export function matches(a: string, b: string): boolean {
  try {
    return parse(a).caip2 === parse(b).caip2
  } catch (error) {
    if (error instanceof InvalidError) return false
    throw error
  }
}

/** The 32 bytes, or undefined if the text is anything but one whole hash in base64. */
function fromBase64(text: string): Uint8Array | undefined {
  if (!/^([A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=?$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  // Node ignores set bits past the last byte; a hash has one spelling.
  const url = text.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
  return bytes.toString('base64url') === url ? new Uint8Array(bytes) : undefined
}

export class InvalidError extends Error {
  override name = 'Network.InvalidError'
}
