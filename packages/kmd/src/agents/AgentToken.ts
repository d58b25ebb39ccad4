/**
 * An agent's token: `lka_` and 60 characters of base64url, which hold a 9-byte id, a 32-byte secret and a 4-byte
 * checksum. The prefix and checksum let secret scanners find tokens without false positives. The daemon stores neither
 * token nor secret.
 */
import { createHash, createHmac } from 'node:crypto'
import type { RawRequest } from '@latchkey/http'
import { KmdError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'

/** The parts of a token. The caller must wipe `secret`. */
export type Parts = { readonly id: string; readonly secret: Buffer }

const prefix = 'lka_'
const idBytes = 9
const secretBytes = 32
const checksumBytes = 4
const pattern = /^lka_[A-Za-z0-9_-]{60}$/

/**
 * Creates a token and returns it with its parts.
 *
 * @param id the id of an existing agent whose token is replaced
 * @default the id of a new agent
 */
export function create(id?: string): Parts & { readonly token: string } {
  const bytes = Buffer.concat([Secret.randomBytes(idBytes + secretBytes), Buffer.alloc(checksumBytes)])
  if (id !== undefined) bytes.write(id, 0, idBytes, 'base64url')
  const body = bytes.subarray(0, idBytes + secretBytes)
  checksum(body).copy(bytes, idBytes + secretBytes)
  const token = prefix + bytes.toString('base64url')
  const parts = split(bytes)
  Secret.wipe(bytes)
  return { token, ...parts }
}

/** Returns the parts of a token; undefined for any other text. */
export function parse(text: string): Parts | undefined {
  if (!pattern.test(text)) return undefined
  const bytes = Buffer.from(text.slice(prefix.length), 'base64url')
  const body = bytes.subarray(0, idBytes + secretBytes)
  const isWhole = checksum(body).equals(bytes.subarray(idBytes + secretBytes))
  const parts = isWhole ? split(bytes) : undefined
  Secret.wipe(bytes)
  return parts
}

/** Whether a text has the prefix of a token, valid or not. */
export function isToken(text: string): boolean {
  return text.startsWith(prefix)
}

/** The header with the token of the owner, a console session or an agent. */
export const tokenHeader = 'x-kmd-api-token'

/**
 * Returns the agent's token in a request. Rejects a second, different token, because it would be unclear who is
 * calling.
 *
 * @throws {@link KmdError} `invalid_token` for two tokens
 */
export function ofRequest(request: RawRequest): string | undefined {
  const presented = request.header(tokenHeader)
  const authorization = request.header('authorization')
  const bearer = authorization === undefined ? undefined : /^bearer +(\S+)$/i.exec(authorization)?.[1]
  const agentBearer = bearer !== undefined && isToken(bearer) ? bearer : undefined
  if (agentBearer !== undefined && presented !== undefined && presented !== agentBearer) {
    throw new KmdError('invalid_token', { message: 'two different tokens were sent; send only one' })
  }
  return agentBearer ?? (presented !== undefined && isToken(presented) ? presented : undefined)
}

/** False only if {@link ofRequest} finds none. */
export function mayBeIn(request: RawRequest): boolean {
  const presented = request.header(tokenHeader)
  return request.header('authorization') !== undefined || (presented !== undefined && isToken(presented))
}

/** The keys derived from a token. The caller wipes both. */
export type Derived = {
  /** Stored by the daemon to verify the secret. Reveals nothing about the sealing key. */
  readonly verifier: Buffer
  /** The key that seals the agent's private keys. */
  readonly sealingKey: Buffer
}

/**
 * HKDF with SHA-256 (RFC 5869) and the id as salt. One extraction serves both keys, because every request needs them.
 */
export function derive({ id, secret }: Parts): Derived {
  const key = hmac(Buffer.from(id, 'base64url'), secret)
  const verifier = hmac(key, verifierInfo)
  const sealingKey = hmac(key, sealingKeyInfo)
  Secret.wipe(key)
  return { verifier, sealingKey }
}

/** The first block of the expansion ends with its number. */
const verifierInfo = Buffer.from('latchkey agent verifier\u0001')
const sealingKeyInfo = Buffer.from('latchkey agent sealing key\u0001')

function split(bytes: Buffer): Parts {
  const secret = Buffer.from(bytes.subarray(idBytes, idBytes + secretBytes))
  return { id: bytes.subarray(0, idBytes).toString('base64url'), secret }
}

function checksum(body: Uint8Array): Buffer {
  return createHash('sha256').update(body).digest().subarray(0, checksumBytes)
}

function hmac(key: Uint8Array, data: Uint8Array): Buffer {
  return createHmac('sha256', key).update(data).digest()
}
