/** The genesis: initial balances, and the document whose hash identifies the network. */
import { Address, Ed25519, Hash, Mnemonic, Msgpack, Network } from '@latchkey/algorand'
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
  readonly dispenser: DevAccount
  readonly accounts: readonly DevAccount[]
  readonly allocations: readonly Allocation[]
  readonly assets: ReadonlyMap<bigint, Asset>
  /** The initial holding of every development account in each asset. */
  readonly assetAmount: bigint
  /** The document as nodes serve it. */
  readonly json: string
}

const network = 'dockernet'
const schema = 'v1'
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

export function make({ accountCount }: { accountCount: number }): Genesis {
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
  const chain: Chain = {
    genesisId: `${network}-${schema}`,
    genesisHash: MapKey.of(Hash.hash(Hash.domains.genesis, encode(allocations))),
    feeSink: MapKey.fromAddress(feeSink),
    rewardsPool: MapKey.fromAddress(rewardsPool),
  }
  const dollar = dollarOf(MapKey.fromAddress(dispenser.address))
  const assets = new Map(dollarIds.map((assetId) => [assetId, dollar]))
  const json = toJson(allocations)
  return { chain, dispenser, accounts, allocations, assets, assetAmount: accountDollars, json }
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
function encode(allocations: readonly Allocation[]): Uint8Array {
  const writer = new Msgpack.Writer().mapHeader(7).str('alloc').arrayHeader(allocations.length)
  for (const { address, comment, microAlgos, status } of allocations) {
    writer.mapHeader(3).str('addr').str(address).str('comment').str(comment)
    writer.str('state').mapHeader(status === 0 ? 1 : 2)
    writer.str('algo').uint(microAlgos)
    if (status !== 0) writer.str('onl').uint(status)
  }
  writer.str('devmode').bool(true).str('fees').str(feeSink).str('id').str(schema).str('network').str(network)
  return writer.str('proto').str(Consensus.version).str('rwd').str(rewardsPool).bytes()
}

function toJson(allocations: readonly Allocation[]): string {
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
    id: schema,
    network,
    proto: Consensus.version,
    rwd: rewardsPool,
  }
  return `${JSON.stringify(document, undefined, 2).replace(/"#([0-9]+)#"/g, '$1')}\n`
}
