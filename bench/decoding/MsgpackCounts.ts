/** Counts the values that the msgpack reader and writer of a checkout read and write in this process. */
import type * as Algorand from '@latchkey/algorand'
import { loadEntry } from '../support/checkout.js'

export type Counts = { readonly reads: number; readonly writes: number }

const readerMethods = [
  'nil',
  'bool',
  'mapHeader',
  'arrayHeader',
  'blobHeader',
  'view',
  'bin',
  'str',
  'uint',
  'smallUint',
  'skip',
] as const
const writerMethods = ['nil', 'bool', 'uint', 'str', 'strBytes', 'bin', 'mapHeader', 'arrayHeader', 'raw'] as const

/**
 * Replaces the methods of both classes for the rest of this process, and returns a function that returns the counts so
 * far. A method called by another one is part of that operation.
 */
export async function install(checkout: string): Promise<() => Counts> {
  const { Msgpack } = await loadEntry<typeof Algorand>(checkout, '@latchkey/algorand')
  const reads = count(Msgpack.Reader.prototype, readerMethods)
  const writes = count(Msgpack.Writer.prototype, writerMethods)
  return () => ({ reads: reads(), writes: writes() })
}

function count<T extends object>(prototype: T, names: readonly (keyof T)[]): () => number {
  let operations = 0
  let depth = 0
  for (const name of names) {
    const original = prototype[name] as (...args: unknown[]) => unknown
    const counted = function (this: unknown, ...args: unknown[]): unknown {
      if (depth++ === 0) operations++
      try {
        return original.apply(this, args)
      } finally {
        depth--
      }
    }
    prototype[name] = counted as T[keyof T]
  }
  return () => operations
}
