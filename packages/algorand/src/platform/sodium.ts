import { existsSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { dirname, join } from 'node:path'
import type { Signing } from './Platform.js'

/** The functions of sodium-native that Latchkey uses. The package ships no types. */
export type Sodium = {
  crypto_sign_seed_keypair(publicKey: Uint8Array, secretKey: Uint8Array, seed: Uint8Array): void
  crypto_sign_detached(signature: Uint8Array, message: Uint8Array, secretKey: Uint8Array): void
  crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean
  crypto_secretbox_easy(box: Uint8Array, message: Uint8Array, nonce: Uint8Array, key: Uint8Array): void
  crypto_secretbox_open_easy(message: Uint8Array, box: Uint8Array, nonce: Uint8Array, key: Uint8Array): boolean
  crypto_generichash(output: Uint8Array, input: Uint8Array, key: Uint8Array): void
  randombytes_buf(buffer: Uint8Array): void
  sodium_malloc(size: number): Buffer
  sodium_free(buffer: Uint8Array): void
  sodium_memzero(buffer: Uint8Array): void
}

let loaded: Sodium | undefined

/**
 * Required instead of imported, because importing CommonJS reads the file twice, which delays the start of a command.
 */
export function require(): Sodium {
  if (loaded !== undefined) return loaded
  const requireHere = createRequire(import.meta.url)
  provideBinary(requireHere)
  loaded = requireHere('sodium-native') as Sodium
  return loaded
}

/** Whether sodium-native is installed with a prebuilt binary for this machine. */
export function hasBinary(): boolean {
  try {
    return existsSync(pathsIn(createRequire(import.meta.url)).binary)
  } catch {
    return false
  }
}

/**
 * Loads the prebuilt binary for this machine from the place where sodium-native looks for it. The loader of
 * sodium-native reads fifteen files to find the binary, which takes longer than loading it. If there is no binary, or
 * it does not load, that loader is used.
 */
function provideBinary(requireHere: NodeJS.Require): void {
  try {
    const { loader, binary } = pathsIn(requireHere)
    if (requireHere.cache[loader] !== undefined || !existsSync(loader)) return
    const exports: unknown = requireHere(binary)
    requireHere.cache[loader] = Object.assign(new Module(loader), { exports, filename: loader, loaded: true })
  } catch {
    // sodium-native reports the error.
  }
}

function pathsIn(requireHere: NodeJS.Require): { loader: string; binary: string } {
  const directory = dirname(requireHere.resolve('sodium-native'))
  const machine = `${process.platform}-${process.arch}`
  return { loader: join(directory, 'binding.js'), binary: join(directory, 'prebuilds', machine, 'sodium-native.node') }
}

/** Returns sodium-native, or undefined if it is not installed or has no binary for this machine. */
export function load(): Sodium | undefined {
  try {
    return require()
  } catch {
    return undefined
  }
}

export function fromSodium(sodium: Sodium): Signing {
  return {
    writeKeyPair: sodium.crypto_sign_seed_keypair,
    sign: sodium.crypto_sign_detached,
    verify: sodium.crypto_sign_verify_detached,
    wipe: sodium.sodium_memzero,
  }
}
