/**
 * The note of a transaction that anchors the log: `latchkey/audit/1:NUMBER:HASH`. The anchor covers a record and all
 * records before it.
 */
import type { Head } from './AuditChain.js'

const prefix = 'latchkey/audit/1:'
const pattern = /^latchkey\/audit\/1:([1-9][0-9]{0,14}):([0-9a-f]{64})$/

/** Returns the note that anchors a head. */
export function write({ number, hash }: Head): string {
  return `${prefix}${number}:${Buffer.from(hash).toString('hex')}`
}

/** Returns the head in a note; undefined for any other note. */
export function read(note: Uint8Array | string): Head | undefined {
  const text = typeof note === 'string' ? note : Buffer.from(note.subarray(0, 200)).toString('latin1')
  const [line, number, hash] = pattern.exec(text) ?? []
  return line === undefined ? undefined : { number: Number(number), hash: Buffer.from(hash!, 'hex') }
}
