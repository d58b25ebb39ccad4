/** Reads recordings of the Go daemon from the source directory. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './daemon.test.helper.js'

export const goldenDir = join(root, 'test', 'golden')

export function readGolden<T>(name: string): T {
  return JSON.parse(readFileSync(join(goldenDir, name), 'utf8')) as T
}

/** The master derivation key 00 01 02 ... 1f that the recordings use, and the first addresses derived from it. */
export const masterKey = Buffer.from(Array.from({ length: 32 }, (_, i) => i))

export const derived = [
  'RARAQGGTYYIAKPP7M44M2ITTE2AXASJD5VIMPRQDU5VJTK3XAA62OLW7IM',
  'AY3EXNCEATTJ3KUPVEVDFUYMO6CT3R3S6QQSVIGTXKCFG26L4WGLJU5PF4',
  'WKDETHNVXAMUKONA73KFXKJB6ZNNUDZ3OH44K55BAUXEWPLC3ZEWHJEDG4',
  'ZZ325EKXFQI52WMZXNP2RTENQIVVWAY2Z57EBNRCJBX6PJDXHJ7IBWLCR4',
] as const
