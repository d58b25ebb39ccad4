/** Runs work that needs the node. Throws an API error if there is no node or the node fails. */
import { AlgodError } from '@latchkey/algod'
import { KmdError } from '../errors.js'
import type { NodeClient } from './NodeClient.js'

export async function withNode<T>(node: NodeClient | undefined, work: (algod: NodeClient) => Promise<T>): Promise<T> {
  if (node === undefined) throw new KmdError('no_node')
  try {
    return await work(node)
  } catch (error) {
    if (error instanceof AlgodError) throw new KmdError('node_failed', { message: explain(error), cause: error })
    throw error
  }
}

/** The cause and the remedy in one text, because the wire has only one. */
export function explain({ message, hint }: AlgodError): string {
  return hint === undefined ? message : `${message}. ${hint}`
}
