/** Names of networks for people, and the network of what is submitted. */
import { Network } from '@latchkey/algorand'

/** With a capital letter: it stands alone. */
export function networkTitle(network: string): string {
  const name = Network.displayName(network)
  return name.charAt(0).toUpperCase() + name.slice(1)
}

/** Where the daemon's network is chosen. */
export const chooseNetwork =
  'The daemon uses one network. To choose another, start it with --node URL, or set "algod" in kmd_config.json.'

/**
 * The genesis hash of what is submitted: that of MainNet if any of the transactions is for it, so that real money is never
 * taken for play money. One that names none is for the network of the node.
 */
export function submittedHash(genesisHashes: readonly string[], nodeHash: string | undefined): string {
  const hashes = genesisHashes.map((hash) => hash || (nodeHash ?? ''))
  return hashes.find((hash) => hash === Network.mainnet.genesisHash) ?? hashes[0] ?? ''
}
