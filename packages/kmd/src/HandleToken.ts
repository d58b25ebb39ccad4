/** The text form of a wallet handle: an id and a secret, as written by the reference. */
import { timingSafeEqual } from 'node:crypto'
import { KmdError } from './errors.js'
import * as Secret from './wallet/Secret.js'

export type HandleToken = { readonly id: string; readonly secret: string }

const idLength = 8
const secretLength = 32

export function create(): HandleToken {
  return {
    id: Secret.randomBytes(idLength).toString('hex'),
    secret: Secret.randomBytes(secretLength).toString('hex'),
  }
}

export function format({ id, secret }: HandleToken): string {
  return `${id}.${secret}`
}

/** @throws {@link KmdError} `wrong_token_parts`, `bad_handle_id`, `bad_handle_secret` */
export function parse(text: string): HandleToken {
  const dot = text.indexOf('.')
  if (dot < 0) throw new KmdError('wrong_token_parts')
  const id = text.slice(0, dot)
  const secret = text.slice(dot + 1)
  if (!isLowerHex(id, 2 * idLength)) throw new KmdError('bad_handle_id')
  if (!isLowerHex(secret, 2 * secretLength)) throw new KmdError('bad_handle_secret')
  return { id, secret }
}

/** Shared: a comparison is synchronous. */
const compared = Buffer.alloc(2 * secretLength)

/** Compares in constant time with the stored secret. */
export function hasSecret({ secret }: HandleToken, stored: Buffer): boolean {
  compared.write(secret, 'latin1')
  const isEqual = timingSafeEqual(compared, stored)
  compared.fill(0)
  return isEqual
}

function isLowerHex(text: string, length: number): boolean {
  if (text.length !== length) return false
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (!((code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66))) return false
  }
  return true
}
