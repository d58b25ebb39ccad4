/**
 * The token of an agent: `lka_` and 60 characters of base64url, which hold a 9-byte id, a 32-byte secret and a 4-byte checksum.
 * The prefix and the checksum let secret scanners find it without false alarms. The daemon stores neither token nor secret.
 */
import { createHash, createHmac } from 'node:crypto'
import * as Secret from '../wallet/Secret.js'

/** The parts of a token. `secret` is the caller's to wipe. */
export type Parts = { readonly id: string; readonly secret: Buffer }

const prefix = 'lka_'
const idBytes = 9
const secretBytes = 32
const checksumBytes = 4
const pattern = /^lka_[A-Za-z0-9_-]{60}$/

/** A new token, with its parts. @param id of the agent that gets it in place of its token. @default another agent */
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

/** The parts of a token; undefined for any other text. */
export function parse(text: string): Parts | undefined {
  if (!pattern.test(text)) return undefined
  const bytes = Buffer.from(text.slice(prefix.length), 'base64url')
  const body = bytes.subarray(0, idBytes + secretBytes)
  const isWhole = checksum(body).equals(bytes.subarray(idBytes + secretBytes))
  const parts = isWhole ? split(bytes) : undefined
  Secret.wipe(bytes)
  return parts
}

/** Whether a text is meant as a token, valid or not. */
export function isToken(text: string): boolean {
  return text.startsWith(prefix)
}

/** What is derived from a token. The caller wipes both. */
export type Derived = {
  /** What the daemon stores to recognise the secret. It tells nothing about the key that seals. */
  readonly verifier: Buffer
  /** The key under which the agent's private keys are sealed. */
  readonly sealingKey: Buffer
}

/** HKDF with SHA-256 (RFC 5869), with the id as its salt: once for both keys, since every request needs them. */
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
