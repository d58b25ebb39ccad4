/** Resources that a simulation permits although the group does not name them. */
import type { ByteKey } from './ByteKey.js'
import type { Call } from './Call.js'

/** Decides about resources that the group does not name, and remembers those that it permitted. */
export type UnnamedResources = {
  readonly allowsAccount: (call: Call, address: ByteKey) => boolean
  readonly allowsAsset: (call: Call, assetId: bigint) => boolean
  readonly allowsApp: (call: Call, appId: bigint) => boolean
  readonly allowsHolding: (call: Call, address: ByteKey, assetId: bigint) => boolean
  readonly allowsLocal: (call: Call, address: ByteKey, appId: bigint) => boolean
}
