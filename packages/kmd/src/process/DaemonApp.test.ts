import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Server, toNodeListener } from '@latchkey/http'
import express from 'express'
import { Hono } from 'hono'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { DaemonApp } from './DaemonApp.js'

async function open(t: TestContext): Promise<{ app: DaemonApp; token: string; dataDir: string }> {
  const dataDir = temporaryDirectory(t)
  const quick = { drivers: { sqlite: { allow_unsafe_scrypt: true, scrypt: { scrypt_n: 2 } } } }
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify(quick))
  const app = await DaemonApp.open({ dataDir, wire: 'reference' })
  t.after(() => app.close())
  return { app, token: readFileSync(app.tokenFile, 'utf8'), dataDir }
}

async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Creates and lists a wallet, and checks the status, text and code of errors. */
async function tryOut(fetch: (path: string, init?: RequestInit) => Promise<Response>, token: string): Promise<void> {
  const headers = { 'X-KMD-API-Token': token }
  const body = JSON.stringify({ wallet_name: 'w', wallet_driver_name: 'sqlite', wallet_password: 'p' })
  const created = await fetch('/v1/wallet', { method: 'POST', headers, body })
  assert.equal(created.status, 200)
  const listed = (await (await fetch('/v1/wallets', { headers })).json()) as { wallets: { name: string }[] }
  assert.deepEqual(
    listed.wallets.map(({ name }) => name),
    ['w'],
  )
  const rejected = await fetch('/v1/wallets')
  assert.deepEqual(
    [rejected.status, rejected.headers.get('latchkey-error'), ((await rejected.json()) as { message: string }).message],
    [401, 'invalid_token', 'invalid API token'],
  )
  const tooLarge = await fetch('/v1/wallet', { method: 'POST', headers, body: ' '.repeat(1024 * 1024 + 1) })
  assert.deepEqual([tooLarge.status, tooLarge.headers.get('latchkey-error')], [413, 'body_too_large'])
}

test('the API can be called without a server', async (t) => {
  const { app, token } = await open(t)
  await tryOut(async (path, init) => app.fetch(new Request(`http://localhost${path}`, init)), token)
  const foreign = await app.fetch(new Request('http://evil.example/versions'))
  assert.deepEqual([foreign.status, foreign.headers.get('latchkey-error')], [403, 'forbidden_host'])
})

test('Hono hosts the API', async (t) => {
  const { app, token } = await open(t)
  const hono = new Hono().all('*', (c) => app.fetch(c.req.raw))
  await tryOut(async (path, init) => hono.request(`http://localhost${path}`, init), token)
})

test('node:http hosts the API', async (t) => {
  const { app, token } = await open(t)
  const url = await listen(t, toNodeListener(app.fetch))
  await tryOut((path, init) => fetch(`${url}${path}`, init), token)
})

test('Express hosts the API below a path', async (t) => {
  const { app, token } = await open(t)
  const url = await listen(t, express().use('/kmd', toNodeListener(app.fetch)))
  await tryOut((path, init) => fetch(`${url}/kmd${path}`, init), token)
})

test('the server of @latchkey/http hosts the API', async (t) => {
  const { app, token } = await open(t)
  const server = new Server({ fetch: app.fetch })
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(() => server.stop())
  await tryOut((path, init) => fetch(`http://127.0.0.1:${port}${path}`, init), token)
})

test('a second DaemonApp on a data directory is rejected', async (t) => {
  const { app, dataDir } = await open(t)
  await assert.rejects(DaemonApp.open({ dataDir }), { name: 'StartError', code: 'already_running', exitCode: 4 })
  await app.close()
  await (await DaemonApp.open({ dataDir })).close()
  t.mock.method(app, 'close', async () => {})
})

test('an unknown setting is a warning', async (t) => {
  const dataDir = temporaryDirectory(t)
  writeFileSync(join(dataDir, 'kmd_config.json'), '{"adress":"127.0.0.1:0"}')
  const app = await DaemonApp.open({ dataDir })
  await app.close()
  assert.deepEqual(app.warnings, ['adress in kmd_config.json is not a setting and is ignored; did you mean address?'])
  assert.match(readFileSync(join(dataDir, 'kmd.log'), 'utf8'), /level=warning msg="adress in kmd_config/)
})
