/** Bearer secrets. Only their hashes are stored, so that the time of a lookup reveals nothing. */
import { createHash } from 'node:crypto'
import * as Secret from '../wallet/Secret.js'

/** The length of the text in characters: 32 bytes in URL-safe base64. */
const length = 43

export function make(): string {
  return Secret.randomBytes(32).toString('base64url')
}

/** The hash of a bearer secret; undefined, at no cost, for text that `make` cannot have produced. */
export function fingerprint(text: string | undefined): string | undefined {
  if (text?.length !== length) return undefined
  return createHash('sha256').update(text, 'latin1').digest('base64')
}
