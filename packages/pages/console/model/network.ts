/** Display names of networks, and the network of a submission. */
import { Network } from '@latchkey/algorand'

/** Capitalized, for use on its own. */
export function networkTitle(network: string): string {
  const name = Network.displayName(network)
  return name.charAt(0).toUpperCase() + name.slice(1)
}

/** Explains where to choose the daemon's network. */
export const chooseNetwork =
  'The daemon uses one network. To choose another, start it with --node URL, or set "algod" in kmd_config.json.'

/**
 * Returns the genesis hash of a submission: that of MainNet if any of its transactions is for MainNet, so that real
 * money is never mistaken for test money. A transaction without a genesis hash is for the network of the node.
 */
export function submittedHash(genesisHashes: readonly string[], nodeHash: string | undefined): string {
  const hashes = genesisHashes.map((hash) => hash || (nodeHash ?? ''))
  return hashes.find((hash) => hash === Network.mainnet.genesisHash) ?? hashes[0] ?? ''
}
