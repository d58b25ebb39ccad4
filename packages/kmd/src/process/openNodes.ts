/** The Algorand nodes of the daemon: the one that it asks, and those that have to agree about payments of agents. */
import { Algod } from '@latchkey/algod'
import type { LedgerClient } from '../api/NodeClient.js'
import type { NodeSetting } from './Config.js'

export type Nodes = {
  /** For balances, transactions and the console. @default none */
  readonly node: Algod | undefined
  /** Decides what became of payments of agents, and how far the network is. @default none */
  readonly ledger: LedgerClient | undefined
  readonly close: () => Promise<void>
}

/** Short, because a person waits at the console. */
export const nodeTimeoutMs = 5_000

/**
 * Makes no connection before the first query.
 *
 * @throws AlgodError `invalid_options` for an address that is none, or a witness that is the node itself
 */
export function openNodes(address: NodeSetting | undefined, witnesses: readonly NodeSetting[]): Nodes {
  const node = address === undefined ? undefined : new Algod({ nodes: [address], timeoutMs: nodeTimeoutMs })
  if (witnesses.length === 0) return { node, ledger: node, close: async () => node?.close() }
  const nodes = [...(address === undefined ? [] : [address]), ...witnesses]
  const all = new Algod({ nodes, quorum: nodes.length, timeoutMs: nodeTimeoutMs })
  const ledger: LedgerClient = {
    parameters: () => all.agreedParameters(),
    blockTransactionIds: (round) => all.blockTransactionIds(round, all.quorum),
  }
  const close = async (): Promise<void> => {
    await Promise.all([node?.close(), all.close()])
  }
  return { node, ledger, close }
}
