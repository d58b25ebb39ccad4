/** The entry `@latchkey/algorand/sodium`, for Node only: libsodium as used by the daemon. */
import { hasBinary, require, type Sodium } from './platform/sodium.js'

export type { Sodium } from './platform/sodium.js'

/**
 * libsodium through sodium-native, an optional peer dependency. It is loaded on first use, because loading takes a
 * third of the start time of a daemon.
 */
export const sodium: Sodium = loadedAtFirstUse()

/**
 * Loads libsodium before its first use.
 *
 * @throws the error of sodium-native if it is not installed or has no binary for this machine.
 */
export function load(): void {
  require()
}

/**
 * Checks that sodium-native is installed with a binary for this machine. Fast if it is.
 *
 * @throws the error of sodium-native if not.
 */
export function check(): void {
  if (!hasBinary()) require()
}

function loadedAtFirstUse(): Sodium {
  const functions: { readonly [name in keyof Sodium]: true } = {
    crypto_sign_seed_keypair: true,
    crypto_sign_detached: true,
    crypto_sign_verify_detached: true,
    crypto_secretbox_easy: true,
    crypto_secretbox_open_easy: true,
    crypto_generichash: true,
    randombytes_buf: true,
    sodium_malloc: true,
    sodium_free: true,
    sodium_memzero: true,
  }
  const names = Object.keys(functions) as (keyof Sodium)[]
  const target = {} as Sodium
  // After the first use these are plain members, because the time of a call matters at the rate of signatures.
  const fill = (): Sodium => {
    const loaded = require()
    for (const name of names) Object.defineProperty(target, name, { value: loaded[name] })
    return target
  }
  for (const name of names) Object.defineProperty(target, name, { configurable: true, get: () => fill()[name] })
  return target
}
