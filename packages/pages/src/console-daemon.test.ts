/** Tests how the console sends operations and reads responses, bundled by Vite as in the page. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { readingOf } from '@latchkey/kmd-api'
import * as groups from '@latchkey/kmd-api/operations'
import { build } from 'vite'

type Operation = { method: string; path: string; response: unknown }
type Daemon = { call(operation: Operation, request?: object, options?: object): Promise<{ [name: string]: unknown }> }
type Page = {
  daemon: { Daemon: new (options: { token: string; onSessionEnded: () => void }) => Daemon }
  operations: { [group: string]: { [id: string]: Operation } }
}

const directory = mkdtempSync(join(tmpdir(), 'console-daemon-'))
const page = {} as Page

before(async () => {
  const { compactApi } = await import(new URL('../compactApi.mjs', import.meta.url).href)
  const entry = {
    daemon: fileURLToPath(new URL('../console/daemon.ts', import.meta.url)),
    operations: fileURLToPath(import.meta.resolve('@latchkey/kmd-api/operations')),
  }
  await build({
    configFile: false,
    logLevel: 'warn',
    plugins: [compactApi],
    build: { outDir: directory, lib: { entry, formats: ['es'], fileName: (_format, name) => `${name}.mjs` } },
  })
  for (const name of ['daemon', 'operations'] as const) {
    page[name] = await import(pathToFileURL(join(directory, `${name}.mjs`)).href)
  }
})
const ownFetch = globalThis.fetch
after(() => {
  globalThis.fetch = ownFetch
  rmSync(directory, { recursive: true })
})

type Sent = { path: string; method: string; headers: { [name: string]: string }; body: string | null }
let sent: Sent[] = []
let ended = 0
beforeEach(() => {
  sent = []
  ended = 0
})

/** A daemon that responds with these bytes. */
function daemonWith(body: string, init: ResponseInit = {}): Daemon {
  globalThis.fetch = async (path, options) => {
    sent.push({ path: String(path), ...(options as Omit<Sent, 'path'>) })
    return new Response(body, init)
  }
  return new page.daemon.Daemon({ token: 'session', onSessionEnded: () => ended++ })
}

const operation = (id: string): Operation => {
  const found = Object.values(page.operations).find((group) => id in group)?.[id]
  assert.ok(found, id)
  return found
}

test('the bundle has the route and the reading of every operation, and nothing else', () => {
  for (const [name, group] of Object.entries(groups)) {
    for (const [id, { method, path, once, response }] of Object.entries(group)) {
      const expected = { method, path, once, response: readingOf(response) }
      assert.deepEqual(withoutFunctions(page.operations[name]?.[id]), withoutFunctions(expected), id)
    }
  }
})

/** The bundle has its own copies of the functions that convert. */
function withoutFunctions(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_name, one) => (typeof one === 'function' ? `${one.length} given` : one)))
}

test('a request has the session token, and bytes as base64', async () => {
  const request = { wallet_handle_token: 'h', transaction: Uint8Array.of(1, 2), public_key: undefined }
  const daemon = daemonWith('{"signed_transaction":"AwQ="}')
  assert.deepEqual(await daemon.call(operation('SignTransaction'), request), { signedTransaction: Uint8Array.of(3, 4) })
  const [{ path, method, headers, body } = assert.fail()] = sent
  assert.deepEqual([path, method], ['/v1/transaction/sign', 'POST'])
  assert.deepEqual(headers, { 'X-KMD-API-Token': 'session', 'Content-Type': 'application/json' })
  assert.equal(body, '{"wallet_handle_token":"h","transaction":"AQI="}')
})

test('a GET has no body', async () => {
  assert.deepEqual(await daemonWith('{}').call(operation('ListWallets')), { wallets: [] })
  assert.deepEqual([sent[0]?.body, sent[0]?.headers], [null, { 'X-KMD-API-Token': 'session' }])
})

test('responses of both wires read the same', async () => {
  const expected = { multisigVersion: 1, pks: [Uint8Array.of(1, 2)], threshold: 2 }
  for (const body of [
    '{"error":false,"message":"","multisig_version":1,"pks":[[1,2]],"threshold":2}',
    '{\n  "multisig_version": 1,\n  "pks": [\n    "AQI="\n  ],\n  "threshold": 2\n}',
  ]) {
    assert.deepEqual(await daemonWith(body).call(operation('ExportMultisig')), expected)
  }
})

test('a response without a member that is never blank, or with a wrong type, is not from the daemon', async () => {
  for (const body of ['{}', '{"address":5}', '', '<html>', '[]', '{"address":null}']) {
    await assert.rejects(daemonWith(body).call(operation('GenerateKey')), { code: 'daemon_unreachable' }, body)
  }
})

test('an ended session is reported to the page, a lost handle is a locked wallet, and other codes are kept', async () => {
  const failing = (code: string, status: number, headers = {}) =>
    daemonWith('{"error":true,"message":"why"}', { status, headers: { 'Latchkey-Error': code, ...headers } })
  const call = (daemon: Daemon) => daemon.call(operation('GenerateKey'))
  await assert.rejects(call(failing('invalid_token', 401)), { code: 'session_ended' })
  assert.equal(ended, 1)
  await assert.rejects(call(failing('handle_expired', 400)), { code: 'wallet_locked' })
  const throttled = { code: 'too_many_wrong_passwords', message: 'why', status: 429, retryAfterSeconds: 7 }
  await assert.rejects(call(failing('too_many_wrong_passwords', 429, { 'Retry-After': '7' })), throttled)
  assert.equal(ended, 1)
})
