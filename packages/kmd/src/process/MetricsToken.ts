/**
 * A token that reads the metrics and nothing else, for Prometheus, which sends it as `Authorization: Bearer`. The data
 * directory has its hash: the token itself is where Prometheus reads it.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as AtomicFile from '@latchkey/system/atomic-file'
import * as Secret from '../wallet/Secret.js'

/** The name of the file with the hash in a data directory. */
export const fileName = 'latchkey_metrics_token.sha256'

/** So that scanners for secrets find it. */
const prefix = 'lkm_'
const hashLength = 64

/** Returns the path of the file with the hash in a data directory. */
export function path(dataDir: string): string {
  return join(dataDir, fileName)
}

/** A new token. It works once its hash is stored. */
export function generate(): string {
  return prefix + Secret.randomBytes(32).toString('base64url')
}

/** Stores the hash of a token, which replaces the last one: a running daemon accepts it at once. */
export function store(dataDir: string, token: string): void {
  AtomicFile.replaceSync(path(dataDir), `${hash(token).toString('hex')}\n`)
}

/** Removes the token. Returns whether there was one. */
export function remove(dataDir: string): boolean {
  const isThere = statSync(path(dataDir), { throwIfNoEntry: false }) !== undefined
  rmSync(path(dataDir), { force: true })
  return isThere
}

/** Whether an Authorization header has the token of a data directory. Without a readable file, none has. */
export function matches(dataDir: string, authorization: string | undefined): boolean {
  const [, token] = /^Bearer +(lkm_[A-Za-z0-9_-]{1,100})$/i.exec(authorization ?? '') ?? []
  if (token === undefined) return false
  const known = read(dataDir)
  return known !== undefined && timingSafeEqual(known, hash(token))
}

/** Read with each scrape, of which there are few: so a new token is in force at once. */
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
