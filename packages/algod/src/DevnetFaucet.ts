/** The faucet of the embedded devnet, on paths that no node of a real network has. */
import { Address, Bytes, Json } from '@latchkey/algorand'
import type { NodeResponse } from './PoolNode.js'

/** The information of the embedded devnet. */
export type DevnetInfo = {
  readonly genesisHash: Uint8Array
  /** The assets that represent a dollar there. */
  readonly dollarAssetIds: readonly bigint[]
  /** The funded accounts, whose keys are public. @default none: an older devnet */
  readonly accounts?: readonly DevnetAccount[] | undefined
}

/** A funded account of the embedded devnet. Its key is public. */
export type DevnetAccount = {
  /** Such as `dispenser` or `account 1`. */
  readonly name: string
  readonly address: string
  /** The 25 words of its key. */
  readonly mnemonic: string
}

/** The funds that the faucet sends. */
export type Funding = {
  readonly address: string
  /** @default 0n */
  readonly microAlgos?: bigint | undefined
  /** @default none */
  readonly asset?: { readonly assetId: bigint; readonly amount: bigint } | undefined
}

/** The balance of the account afterwards. */
export type Funded = { readonly microAlgos: bigint; readonly round: bigint }

export const infoPath = '/devnet'
export const fundPath = '/devnet/fund'

const maxDollarAssets = 16
const maxAccounts = 200
/** 25 words of at most 8 letters. */
const maxAccountText = 300

/** A node of a real network does not have this path, but another program may have a page there. */
export function readInfo(response: NodeResponse): DevnetInfo | undefined {
  if (response.status === 404) return undefined
  const members = response.members()
  const genesisHash = Bytes.fromBase64(members.text('genesis-hash'))
  if (!members.isTrue('development-only') || genesisHash === undefined) throw members.invalid()
  const dollars = members.list('dollars').slice(0, maxDollarAssets)
  const accounts = members.has('accounts') ? members.list('accounts').slice(0, maxAccounts).flatMap(readAccount) : []
  return { genesisHash, dollarAssetIds: dollars.map((id) => members.uintOf(id)), accounts }
}

/** Leaves out anything that is not an account of a devnet. */
function readAccount(value: unknown): DevnetAccount[] {
  if (!Json.isObject(value)) return []
  const { name, address, mnemonic } = value
  const isText = [name, address, mnemonic].every((text) => typeof text === 'string' && text.length <= maxAccountText)
  if (!isText || !Address.isValid(address as string)) return []
  return [{ name: name as string, address: address as string, mnemonic: mnemonic as string }]
}

export function encode({ address, microAlgos = 0n, asset }: Funding): Uint8Array<ArrayBuffer> {
  const members = { address, microAlgos: String(microAlgos) }
  const more = asset === undefined ? {} : { assetId: String(asset.assetId), amount: String(asset.amount) }
  return new Uint8Array(new TextEncoder().encode(JSON.stringify({ ...members, ...more })))
}

export function readFunded(response: NodeResponse): Funded {
  if (response.status === 404) throw response.notFound(fundPath)
  const members = response.members()
  return { microAlgos: members.uint('amount'), round: members.uint('round') }
}
