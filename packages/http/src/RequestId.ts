/** Ids that identify a request in its response, in the log, and in the reports of clients. */
import { randomFillSync } from 'node:crypto'

/** The id header of requests and responses. */
export const headerName = 'X-Request-Id'
/** The same name in the form of parsed requests. */
export const lowerCaseName = 'x-request-id'

/**
 * Letters, digits and a few marks, no longer than a UUID. It excludes terminal and log control characters, and is too
 * short for an API token, a handle or a private key that a client sends here by mistake.
 */
const plain = /^[A-Za-z0-9][A-Za-z0-9_-]{0,35}$/

const idLength = 16
/** Many ids are generated at once, because each call into the runtime costs as much as an id. */
const pool = Buffer.alloc((idLength / 2) * 512)
let digits = ''
let used = 0

/** Returns the client's id if it is valid, and otherwise a new one of 16 digits. */
export function choose(sent: string | undefined): string {
  return sent !== undefined && plain.test(sent) ? sent : create()
}

/** Returns a new id: 64 random bits in hexadecimal, which reveal nothing about other requests. */
export function create(): string {
  if (used === digits.length) {
    digits = randomFillSync(pool).toString('hex')
    used = 0
  }
  const start = used
  used += idLength
  return digits.slice(start, used)
}
