/** The genesis: initial balances, and the document whose hash identifies the network. */
import { Address, Bytes, Ed25519, Hash, Mnemonic, Msgpack, Network } from '@latchkey/algorand'
import { DevnetError } from '../DevnetError.js'
import type { Asset } from './Account.js'
import * as Consensus from './Consensus.js'
import type { Chain } from './Evaluate.js'
import * as MapKey from './MapKey.js'

/** An account with a public key pair, derived from its name. For development only. */
export type DevAccount = {
  /** `dispenser`, `account 1`, and so on. */
  readonly name: string
  readonly address: string
  /** 25 words. */
  readonly mnemonic: string
  /** Seed and public key, 64 bytes, in base64. */
  readonly secretKey: string
}

type Allocation = {
  readonly address: string
  readonly comment: string
  readonly microAlgos: bigint
  readonly status: 0 | 2
}

export type Genesis = {
  readonly chain: Chain
  /** Differs for two geneses that differ in anything, also if both were given the same hash. */
  readonly fingerprint: MapKey.MapKey
  readonly dispenser: DevAccount
  readonly accounts: readonly DevAccount[]
  readonly allocations: readonly Allocation[]
  readonly assets: ReadonlyMap<bigint, Asset>
  /** The initial holding of every development account in each asset. */
  readonly assetAmount: bigint
  /** The document as nodes serve it. */
  readonly json: string
}

const defaultId = 'dockernet-v1'
const hashLength = 32
const feeSink = 'A7NMWS3NT3IUDMLVO26ULGXGIIOUQ3ND2TXSER6EBGRZNOBOUIQXHIBGDE'
const rewardsPool = '7777777777777777777777777777777777777777777777777774MSJUVU'
const supplyMicroAlgos = 10_000_000_000n * 1_000_000n
const accountMicroAlgos = 1_000_000n * 1_000_000n

/** USDC of MainNet and of TestNet, so that price configurations work unchanged. */
export const dollarIds: readonly bigint[] = [Network.mainnet.usdcAssetId!, Network.testnet.usdcAssetId!]
const dollarDecimals = 6
const dollarTotal = 10_000_000_000n * 10n ** BigInt(dollarDecimals)
const accountDollars = 1_000_000n * 10n ** BigInt(dollarDecimals)

export const maxAccounts = 100

export type GenesisOptions = {
  accountCount: number
  /** Standard base64, instead of the hash of the document. */
  genesisHash?: string | undefined
  /** A network and a version, with a hyphen between them. */
  genesisId?: string | undefined
}

export function make({ accountCount, genesisHash: given, genesisId = idFor(given) }: GenesisOptions): Genesis {
  if (!Number.isInteger(accountCount) || accountCount < 0 || accountCount > maxAccounts) {
    throw new DevnetError('invalid_option', `accounts is not a whole number within 0 and ${maxAccounts}`)
  }
  const dispenser = devAccount('dispenser')
  const accounts = Array.from({ length: accountCount }, (_, index) => devAccount(`account ${index + 1}`))
  const rest = supplyMicroAlgos - accountMicroAlgos * BigInt(accountCount)
  const allocations: Allocation[] = [
    { address: rewardsPool, comment: 'RewardsPool', microAlgos: Consensus.minBalanceMicroAlgos, status: 2 },
    { address: feeSink, comment: 'FeeSink', microAlgos: Consensus.minBalanceMicroAlgos, status: 2 },
    // Tools fund accounts from the one with this comment.
    { address: dispenser.address, comment: 'Wallet1', microAlgos: rest, status: 0 },
    ...accounts.map(({ address, name }) => ({
      address,
      comment: name,
      microAlgos: accountMicroAlgos,
      status: 0 as const,
    })),
  ]
  const name = parseId(genesisId)
  const document = encode(allocations, name)
  const hash = given === undefined ? Hash.hash(Hash.domains.genesis, document) : parseHash(given)
  const chain: Chain = {
    genesisId,
    genesisHash: MapKey.of(hash),
    feeSink: MapKey.fromAddress(feeSink),
    rewardsPool: MapKey.fromAddress(rewardsPool),
  }
  const dollar = dollarOf(MapKey.fromAddress(dispenser.address))
  const assets = new Map(dollarIds.map((assetId) => [assetId, dollar]))
  const json = toJson(allocations, name)
  const fingerprint =
    given === undefined ? chain.genesisHash : MapKey.of(Hash.hash(Hash.domains.genesis, Bytes.concat([document, hash])))
  return { chain, fingerprint, dispenser, accounts, allocations, assets, assetAmount: accountDollars, json }
}

/** Clients that know a network by its hash expect its id too. */
function idFor(genesisHash: string | undefined): string {
  return Network.known.find((one) => one.genesisHash === genesisHash)?.genesisId ?? defaultId
}

function parseHash(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length === hashLength && bytes.toString('base64') === text) return new Uint8Array(bytes)
  throw new DevnetError('invalid_option', `genesisHash is not ${hashLength} bytes in base64`)
}

type Name = { readonly network: string; readonly version: string }

function parseId(genesisId: string): Name {
  const [, network, version] = /^([a-z0-9]{1,32})-([A-Za-z0-9.]{1,32})$/.exec(genesisId) ?? []
  if (network !== undefined && version !== undefined) return { network, version }
  throw new DevnetError('invalid_option', `genesisId is not a network and a version, such as ${defaultId}`)
}

function devAccount(name: string): DevAccount {
  const seed = Hash.sha512_256(new Uint8Array(Buffer.from(`latchkey devnet, for development only: ${name}`)))
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(seed)
  return {
    name,
    address: Address.encode(publicKey),
    mnemonic: Mnemonic.encode(seed),
    secretKey: Buffer.from(secretKey).toString('base64'),
  }
}

function dollarOf(issuer: MapKey.MapKey): Asset {
  const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))
  return {
    creator: issuer,
    total: dollarTotal,
    decimals: dollarDecimals,
    defaultFrozen: false,
    unitName: bytes('USDC'),
    name: bytes('USDC (development only)'),
    url: bytes(''),
    manager: issuer,
    reserve: issuer,
    freeze: issuer,
    clawback: issuer,
  }
}

/** Unlike elsewhere, empty parts of an allocation are written. */
function encode(allocations: readonly Allocation[], { network, version }: Name): Uint8Array {
  const writer = new Msgpack.Writer().mapHeader(7).str('alloc').arrayHeader(allocations.length)
  for (const { address, comment, microAlgos, status } of allocations) {
    writer.mapHeader(3).str('addr').str(address).str('comment').str(comment)
    writer.str('state').mapHeader(status === 0 ? 1 : 2)
    writer.str('algo').uint(microAlgos)
    if (status !== 0) writer.str('onl').uint(status)
  }
  writer.str('devmode').bool(true).str('fees').str(feeSink).str('id').str(version).str('network').str(network)
  return writer.str('proto').str(Consensus.version).str('rwd').str(rewardsPool).bytes()
}

function toJson(allocations: readonly Allocation[], { network, version }: Name): string {
  const alloc = allocations.map(({ address, comment, microAlgos, status }) => ({
    addr: address,
    comment,
    // Amounts above 2^53 are not safe numbers, so that they are inserted as text.
    state: { algo: `#${microAlgos}#`, ...(status === 0 ? {} : { onl: status }) },
  }))
  const document = {
    alloc,
    devmode: true,
    fees: feeSink,
    id: version,
    network,
    proto: Consensus.version,
    rwd: rewardsPool,
  }
  return `${JSON.stringify(document, undefined, 2).replace(/"#([0-9]+)#"/g, '$1')}\n`
}
