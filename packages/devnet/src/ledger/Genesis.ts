/** The genesis: initial balances, and the document whose hash identifies the network. */
import { createHash } from 'node:crypto'
import { Address, Bytes, Ed25519, Hash, Mnemonic, Network } from '@latchkey/algorand'
import { DevnetError } from '../errors.js'
import type { Asset, Participation } from './Account.js'
import * as Consensus from './Consensus.js'
import type { Chain } from './Evaluate.js'
import * as GenesisDocument from './GenesisDocument.js'
import * as MapKey from './MapKey.js'

/** An account with a public key pair, derived from its name. For development only. */
export type DevAccount = {
  /** `dispenser`, `wallet 2`, `faucet`, `account 1`, and so on. */
  readonly name: string
  readonly address: string
  /** 25 words. */
  readonly mnemonic: string
  /** Seed and public key, 64 bytes, in base64. */
  readonly secretKey: string
}

/** The node's participation keys of an account. */
export type AccountParticipation = { readonly account: MapKey.MapKey; readonly keys: Participation }

export type Genesis = {
  readonly chain: Chain
  /** Differs for two geneses that differ in anything, even if both were given the same hash. */
  readonly fingerprint: MapKey.MapKey
  /** The first of the online accounts. */
  readonly dispenser: DevAccount
  /** The accounts of AlgoKit's local network: 4, 4 and 2 billion Algos, online. */
  readonly onlineAccounts: readonly DevAccount[]
  /** Issues the dollars, and holds the Algos and dollars that are distributed without a transaction. */
  readonly faucet: DevAccount
  readonly accounts: readonly DevAccount[]
  /** The participation keys of the online accounts, in their order. */
  readonly participation: readonly AccountParticipation[]
  readonly allocations: readonly GenesisDocument.Allocation[]
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
const microAlgosPerAlgo = 1_000_000n
/**
 * By the name of the account. Key daemons list keys in the order of their bytes, and tools take the first one. The
 * names are chosen so that it is the key of the dispenser.
 */
const onlineAlgos = { dispenser: 4_000_000_000n, 'wallet 2': 4_000_000_000n, 'wallet of 2 billion': 2_000_000_000n }
/** Separate from the online accounts, so that funding does not change their balances; below 2^53 microAlgos. */
const faucetAlgos = 5_000_000_000n
const accountAlgos = 1_000_000n
const lastVotingRound = 3_000_000n
const voteKeyDilution = 10_000n

/** USDC of MainNet and of TestNet, so that price configurations work unchanged. */
export const dollarIds: readonly bigint[] = [Network.mainnet.usdcAssetId!, Network.testnet.usdcAssetId!]
const dollarDecimals = 6
const dollarTotal = 10_000_000_000n * 10n ** BigInt(dollarDecimals)
const accountDollars = 1_000_000n * 10n ** BigInt(dollarDecimals)

export const maxAccounts = 100

export type GenesisOptions = {
  accountCount: number
  /** Standard base64, replaces the hash of the document. */
  genesisHash?: string | undefined
  /** A network and a version, with a hyphen between them. */
  genesisId?: string | undefined
}

export function make({ accountCount, genesisHash: given, genesisId = idFor(given) }: GenesisOptions): Genesis {
  if (!Number.isInteger(accountCount) || accountCount < 0 || accountCount > maxAccounts) {
    throw new DevnetError('invalid_option', `accounts must be a whole number from 0 to ${maxAccounts}`)
  }
  const onlineAccounts = Object.keys(onlineAlgos).map(devAccount)
  const faucet = devAccount('faucet')
  const accounts = Array.from({ length: accountCount }, (_, index) => devAccount(`account ${index + 1}`))
  const participation = onlineAccounts.map(({ name, address }) => ({
    account: MapKey.fromAddress(address),
    keys: participationKeys(name),
  }))
  const allocations = allocate({ onlineAccounts, faucet, accounts, participation })
  const document = { allocations, name: parseId(genesisId), feeSink, rewardsPool }
  const encoded = GenesisDocument.encode(document)
  const hash = given === undefined ? Hash.hash(Hash.domains.genesis, encoded) : parseHash(given)
  const chain: Chain = {
    genesisId,
    genesisHash: MapKey.of(hash),
    feeSink: MapKey.fromAddress(feeSink),
    rewardsPool: MapKey.fromAddress(rewardsPool),
  }
  const dollar = dollarOf(MapKey.fromAddress(faucet.address))
  return {
    chain,
    fingerprint:
      given === undefined
        ? chain.genesisHash
        : MapKey.of(Hash.hash(Hash.domains.genesis, Bytes.concat([encoded, hash]))),
    dispenser: onlineAccounts[0]!,
    onlineAccounts,
    faucet,
    accounts,
    participation,
    allocations,
    assets: new Map(dollarIds.map((assetId) => [assetId, dollar])),
    assetAmount: accountDollars,
    json: GenesisDocument.toJson(document),
  }
}

/** The comments of the online accounts match those of a local network, because tools fund accounts from `Wallet1`. */
function allocate({
  onlineAccounts,
  faucet,
  accounts,
  participation,
}: Pick<Genesis, 'onlineAccounts' | 'faucet' | 'accounts' | 'participation'>): GenesisDocument.Allocation[] {
  const pool = { microAlgos: Consensus.minBalanceMicroAlgos, status: 'Not Participating' } as const
  const offline = ({ address, name }: DevAccount, algos: bigint): GenesisDocument.Allocation => ({
    address,
    comment: name,
    microAlgos: algos * microAlgosPerAlgo,
    status: 'Offline',
  })
  const amounts = Object.values(onlineAlgos)
  return [
    { address: rewardsPool, comment: 'RewardsPool', ...pool },
    { address: feeSink, comment: 'FeeSink', ...pool },
    ...onlineAccounts.map(({ address }, index) => ({
      address,
      comment: `Wallet${index + 1}`,
      microAlgos: amounts[index]! * microAlgosPerAlgo,
      status: 'Online' as const,
      participation: participation[index]!.keys,
    })),
    offline(faucet, faucetAlgos - accountAlgos * BigInt(accounts.length)),
    ...accounts.map((account) => offline(account, accountAlgos)),
  ]
}

/**
 * Vote and selection keys are public keys on the curve of ed25519, like those of a node; a state proof key is the root
 * of a tree of 64 bytes. Their secret halves are not needed, because a development ledger has no consensus.
 */
function participationKeys(name: string): Participation {
  const publicKey = (use: string): Uint8Array => Ed25519.keyPairFromSeed(seedOf(`${name}, ${use}`)).publicKey
  return {
    voteKey: publicKey('vote key'),
    selectionKey: publicKey('selection key'),
    stateProofKey: hashOf64Bytes(seedOf(`${name}, state proof key`)),
    firstRound: 0n,
    lastRound: lastVotingRound,
    keyDilution: voteKeyDilution,
  }
}

/** Clients that know a network by its hash also expect its id. */
function idFor(genesisHash: string | undefined): string {
  return Network.known.find((one) => one.genesisHash === genesisHash)?.genesisId ?? defaultId
}

function parseHash(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length === hashLength && bytes.toString('base64') === text) return new Uint8Array(bytes)
  throw new DevnetError('invalid_option', `genesisHash must be ${hashLength} bytes in base64`)
}

function parseId(genesisId: string): GenesisDocument.NetworkName {
  const [, network, version] = /^([a-z0-9]{1,32})-([A-Za-z0-9.]{1,32})$/.exec(genesisId) ?? []
  if (network !== undefined && version !== undefined) return { network, version }
  throw new DevnetError('invalid_option', `genesisId must be a network and a version, such as ${defaultId}`)
}

function hashOf64Bytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha512').update(bytes).digest())
}

function seedOf(name: string): Uint8Array {
  return Hash.sha512_256(new Uint8Array(Buffer.from(`latchkey devnet, for development only: ${name}`)))
}

function devAccount(name: string): DevAccount {
  const seed = seedOf(name)
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
