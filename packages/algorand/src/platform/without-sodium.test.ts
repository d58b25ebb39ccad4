import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as Ed25519 from '../Ed25519.js'

const script = `
import { Bytes, Ed25519 } from '@latchkey/algorand'
const { publicKey, secretKey } = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(7))
const message = Bytes.fromUtf8('message')
const signature = Ed25519.sign(message, secretKey)
const { check, load, sodium } = await import('@latchkey/algorand/sodium')
const failures = [check, load, () => sodium.sodium_malloc(32)].map((use) => {
  try { use(); return '' } catch (error) { return error.code }
})
console.log(JSON.stringify([Bytes.toHex(publicKey), Bytes.toHex(signature), Ed25519.verify(signature, message, publicKey), failures]))
`

test('the package works on Node without sodium-native, and only its sodium entry fails', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-without-sodium-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const installed = join(directory, 'node_modules', '@latchkey', 'algorand')
  const source = fileURLToPath(new URL('../../', import.meta.url))
  mkdirSync(installed, { recursive: true })
  cpSync(join(source, 'package.json'), join(installed, 'package.json'))
  cpSync(join(source, 'dist'), join(installed, 'dist'), { recursive: true })
  const noble = dirname(dirname(fileURLToPath(import.meta.resolve('@noble/ed25519'))))
  symlinkSync(noble, join(directory, 'node_modules', '@noble'))

  const run = ['--input-type=module', '--eval', script]
  const output = execFileSync(process.execPath, run, { cwd: directory, encoding: 'utf8' })
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(7))
  const signature = Ed25519.sign(new TextEncoder().encode('message'), secretKey)
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
  assert.deepEqual(JSON.parse(output), [hex(publicKey), hex(signature), true, Array(3).fill('MODULE_NOT_FOUND')])
})
