/** Ids by which a request is found again: in the response, in the log, and in what a client reports. */
import { randomFillSync } from 'node:crypto'

/** The header with the id, of requests and of responses. */
export const headerName = 'X-Request-Id'
/** The same as requests have it. */
export const lowerCaseName = 'x-request-id'

/**
 * Letters, digits and a few marks, no longer than a UUID: nothing that a terminal or a log obeys, and too short for an API
 * token, a handle or a private key that a client sends here by mistake.
 */
const plain = /^[A-Za-z0-9][A-Za-z0-9_-]{0,35}$/

const idBytes = 8
/** Random bytes are made for many ids at once: a call costs as much as an id. */
const pool = Buffer.alloc(idBytes * 512)
let used = pool.length

/** Returns the id that the client sent, if it is plain, or a new one of 16 digits. */
export function choose(sent: string | undefined): string {
  return sent !== undefined && plain.test(sent) ? sent : create()
}

/** Returns a new id: 64 random bits in hexadecimal, which say nothing about other requests. */
export function create(): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const start = used
  used += idBytes
  return pool.toString('hex', start, used)
}
