/** How the ledger begins: who has how much, and the document whose hash names the network. */
import { Address, Ed25519, Hash, Mnemonic, Msgpack, Network } from '@latchkey/algorand'
import type { Asset } from './Account.js'
import * as Consensus from './Consensus.js'
import type { Chain } from './Evaluate.js'
import * as Key from './Key.js'

/** A key that everybody knows: it is derived from its name. Never for anything but development. */
export type DevAccount = {
  readonly name: string
  readonly address: string
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
  /** What every development account holds of each asset at the beginning. */
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

/** Unmodified price configurations ask for these: the dollar of MainNet and of TestNet. */
export const dollarIds: readonly bigint[] = [Network.mainnet.usdcAssetId!, Network.testnet.usdcAssetId!]
const dollarDecimals = 6
const dollarTotal = 10_000_000_000n * 10n ** BigInt(dollarDecimals)
const accountDollars = 1_000_000n * 10n ** BigInt(dollarDecimals)

export const maxAccounts = 100

export function make({ accountCount }: { accountCount: number }): Genesis {
  if (!Number.isInteger(accountCount) || accountCount < 0 || accountCount > maxAccounts) {
    throw new RangeError(`a devnet has 0 to ${maxAccounts} development accounts`)
  }
  const dispenser = devAccount('dispenser')
  const accounts = Array.from({ length: accountCount }, (_, index) => devAccount(`account ${index + 1}`))
  const rest = supplyMicroAlgos - accountMicroAlgos * BigInt(accountCount)
  const allocations: Allocation[] = [
    { address: rewardsPool, comment: 'RewardsPool', microAlgos: Consensus.minBalanceMicroAlgos, status: 2 },
    { address: feeSink, comment: 'FeeSink', microAlgos: Consensus.minBalanceMicroAlgos, status: 2 },
    // Tools look for the account with this comment when they want to fund others.
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
    genesisHash: Key.of(Hash.hash(Hash.domains.genesis, encode(allocations))),
    feeSink: Key.fromAddress(feeSink),
    rewardsPool: Key.fromAddress(rewardsPool),
  }
  const dollar = dollarOf(Key.fromAddress(dispenser.address))
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

function dollarOf(issuer: Key.Key): Asset {
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

/** Unlike elsewhere, the parts of an allocation are written even when they are empty. */
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
    // Amounts above 2^53 are not numbers to JavaScript; they are put in by hand.
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
