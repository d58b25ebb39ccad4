/** A running daemon's Algorand nodes, which a changed setting replaces. */
import type { Config, NodeSetting } from './Config.js'
import { type Nodes, nodeTimeoutMs, openNodes } from './openNodes.js'

export type NodeParts = Nodes & {
  /** Uses the nodes of changed settings from now on. */
  readonly replace: (config: Config) => void
}

/**
 * @param address overrides `algod` in kmd_config.json
 * @throws AlgodError `invalid_options` for an invalid URL, or a witness that is the node itself
 */
export function openNodeParts(address: NodeSetting | undefined, config: Config): NodeParts {
  const open = ({ algod, algodWitnesses }: Config): Nodes => openNodes(address ?? algod, algodWitnesses)
  let current = open(config)
  return {
    get node() {
      return current.node
    },
    get ledger() {
      return current.ledger
    },
    replace: (changed) => {
      const old = current
      current = open(changed)
      // Requests in progress still use them.
      setTimeout(() => void old.close(), nodeTimeoutMs).unref()
    },
    close: () => current.close(),
  }
}
