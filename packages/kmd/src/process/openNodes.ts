/** The daemon's Algorand nodes: the one that it queries, and those that must agree about agents' payments. */
import { Algod, AlgodError, type LeasedTransaction } from '@latchkey/algod'
import { Bytes } from '@latchkey/algorand'
import type { LedgerClient } from '../api/NodeClient.js'
import type { NodeSetting } from './Config.js'

export type Nodes = {
  /** For balances, transactions and the console. @default none */
  readonly node: Algod | undefined
  /** Decides the outcome of agents' payments, and reports the network's last round. @default none */
  readonly ledger: LedgerClient | undefined
  readonly close: () => Promise<void>
}

/** Short, because a person waits at the console. */
export const nodeTimeoutMs = 5_000
/** A block of MainNet has at most 5 MB, and more as JSON. */
const maxResponseBytes = 16 * 1024 * 1024

/**
 * Makes no connection before the first query.
 *
 * @throws AlgodError `invalid_options` for an invalid URL, or a witness that is the node itself
 */
export function openNodes(address: NodeSetting | undefined, witnesses: readonly NodeSetting[]): Nodes {
  const node =
    address === undefined ? undefined : new Algod({ nodes: [address], timeoutMs: nodeTimeoutMs, maxResponseBytes })
  if (witnesses.length === 0) return { node, ledger: node, close: async () => node?.close() }
  const nodes = [...(address === undefined ? [] : [address]), ...witnesses]
  // The same node twice is not a quorum.
  void new Algod({ nodes, quorum: nodes.length }).close()
  const all = nodes.map((one) => new Algod({ nodes: [one], timeoutMs: nodeTimeoutMs, maxResponseBytes }))
  const close = async (): Promise<void> => {
    await Promise.all([node?.close(), ...all.map((one) => one.close())])
  }
  return { node, ledger: agreeing(all), close }
}

/** Every node must respond. A slow or lost node is waited for, or asked again later, but never left out. */
function agreeing(all: readonly Algod[]): LedgerClient {
  return {
    /** From the node with the lowest last round, so that the others cannot claim a later one. */
    parameters: async () => {
      const answers = await Promise.all(all.map((one) => one.parameters()))
      const last = answers.reduce((least, one) => (one.lastRound < least.lastRound ? one : least))
      if (answers.every(({ genesisHash }) => Bytes.equal(genesisHash, last.genesisHash))) return last
      throw new AlgodError('no_quorum', 'the nodes in algod and algod_witnesses belong to different networks')
    },
    /** The transactions that any of the nodes has in the block. */
    blockTransactionIds: async (round) => {
      const lists = await Promise.all(all.map((one) => one.blockTransactionIds(round)))
      return [...new Set(lists.flat())]
    },
    /** The nodes must report the same transactions: a charge that only one of them has decides nothing. */
    leasesInBlock: async (round) => {
      const [first, ...others] = await Promise.all(all.map((one) => one.leasesInBlock(round)))
      if (others.every((list) => isSame(list, first!))) return first!
      throw new AlgodError('no_quorum', `the nodes report different transactions in the block of round ${round}`)
    },
  }
}

function isSame(a: readonly LeasedTransaction[], b: readonly LeasedTransaction[]): boolean {
  const text = (list: readonly LeasedTransaction[]): string =>
    JSON.stringify(list, (_, value) => (typeof value === 'bigint' ? `${value}` : value))
  return text(a) === text(b)
}
