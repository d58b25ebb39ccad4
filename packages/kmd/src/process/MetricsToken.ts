/**
 * A token that can only read the metrics, for Prometheus, which sends it as `Authorization: Bearer`. The data directory
 * stores its hash; the token itself is stored where Prometheus reads it.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as AtomicFile from '@latchkey/system/atomic-file'
import * as Secret from '../wallet/Secret.js'

/** The name of the file with the hash in a data directory. */
export const fileName = 'latchkey_metrics_token.sha256'

/** Lets secret scanners find the token. */
const prefix = 'lkm_'
const hashLength = 64

/** Returns the path of the file with the hash in a data directory. */
export function path(dataDir: string): string {
  return join(dataDir, fileName)
}

/** Generates a token, which works once its hash is stored. */
export function generate(): string {
  return prefix + Secret.randomBytes(32).toString('base64url')
}

/** Stores a token's hash and replaces the previous one. A running daemon accepts the new token at once. */
export function store(dataDir: string, token: string): void {
  AtomicFile.replaceSync(path(dataDir), `${hash(token).toString('hex')}\n`)
}

/** Removes the token. Returns whether there was one. */
export function remove(dataDir: string): boolean {
  const isThere = statSync(path(dataDir), { throwIfNoEntry: false }) !== undefined
  rmSync(path(dataDir), { force: true })
  return isThere
}

/** Whether an Authorization header has the data directory's token. False if the file is unreadable. */
export function matches(dataDir: string, authorization: string | undefined): boolean {
  const [, token] = /^Bearer +(lkm_[A-Za-z0-9_-]{1,100})$/i.exec(authorization ?? '') ?? []
  if (token === undefined) return false
  const known = read(dataDir)
  return known !== undefined && timingSafeEqual(known, hash(token))
}

/** Read at each scrape, because scrapes are rare. A new token is effective at once. */
function read(dataDir: string): Buffer | undefined {
  try {
    const text = readFileSync(path(dataDir), 'latin1').trim()
    return text.length === hashLength && /^[0-9a-f]+$/.test(text) ? Buffer.from(text, 'hex') : undefined
  } catch {
    return undefined
  }
}

function hash(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
