/** The Algorand nodes of the daemon: the one that it asks, and those that have to agree about payments of agents. */
import { Algod, AlgodError } from '@latchkey/algod'
import { Bytes } from '@latchkey/algorand'
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
  // The same node twice is no quorum.
  void new Algod({ nodes, quorum: nodes.length }).close()
  const all = nodes.map((one) => new Algod({ nodes: [one], timeoutMs: nodeTimeoutMs }))
  const close = async (): Promise<void> => {
    await Promise.all([node?.close(), ...all.map((one) => one.close())])
  }
  return { node, ledger: agreeing(all), close }
}

/** Every node has to answer: a slow or lost one is waited for, or asked again later, and never left out. */
function agreeing(all: readonly Algod[]): LedgerClient {
  return {
    /** Of the node that is least far: the others cannot claim a later round. */
    parameters: async () => {
      const answers = await Promise.all(all.map((one) => one.parameters()))
      const last = answers.reduce((least, one) => (one.lastRound < least.lastRound ? one : least))
      if (answers.every(({ genesisHash }) => Bytes.equal(genesisHash, last.genesisHash))) return last
      throw new AlgodError('no_quorum', 'the nodes in algod and algod_witnesses are of different networks')
    },
    /** What any of them has in the block. */
    blockTransactionIds: async (round) => {
      const lists = await Promise.all(all.map((one) => one.blockTransactionIds(round)))
      return [...new Set(lists.flat())]
    },
  }
}
