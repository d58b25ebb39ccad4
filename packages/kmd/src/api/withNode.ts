/** Work that needs the node: without one, and with one that fails, it ends with an error of the API. */
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

/** Why, and what to do: the wire has one text for both. */
export function explain({ message, hint }: AlgodError): string {
  return hint === undefined ? message : `${message}. ${hint}`
}
