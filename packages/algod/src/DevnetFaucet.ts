/** The faucet of the embedded devnet, on paths that no node of a real network has. */
import { Bytes } from '@latchkey/algorand'
import type { NodeResponse } from './PoolNode.js'

/** The information of the embedded devnet. */
export type DevnetInfo = {
  readonly genesisHash: Uint8Array
  /** The assets that represent a dollar there. */
  readonly dollarAssetIds: readonly bigint[]
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

/** A node of a real network does not have this path, but another program may have a page there. */
export function readInfo(response: NodeResponse): DevnetInfo | undefined {
  if (response.status === 404) return undefined
  const members = response.members()
  const genesisHash = Bytes.fromBase64(members.text('genesis-hash'))
  if (!members.isTrue('development-only') || genesisHash === undefined) throw members.invalid()
  const dollars = members.list('dollars').slice(0, maxDollarAssets)
  return { genesisHash, dollarAssetIds: dollars.map((id) => members.uintOf(id)) }
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
