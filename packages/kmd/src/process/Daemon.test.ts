import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Server } from '@latchkey/http'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { Daemon } from './Daemon.js'

test('on a machine without IPv6, the wildcard means every IPv4 interface', async (t) => {
  const dataDir = temporaryDirectory(t)
  writeFileSync(join(dataDir, 'kmd_config.json'), '{"address":"0.0.0.0:0"}')
  const { listen } = Server.prototype
  const hosts: string[] = []
  t.mock.method(Server.prototype, 'listen', function (this: Server, host: string, port: number) {
    hosts.push(host)
    const refused = Object.assign(new Error('listen EAFNOSUPPORT'), { code: 'EAFNOSUPPORT' })
    return host === '::' ? Promise.reject(refused) : listen.call(this, host, port)
  })
  const daemon = await Daemon.start({ dataDir, wire: 'reference' })
  t.after(() => daemon.stop())
  assert.deepEqual(hosts, ['::', '0.0.0.0'])
  assert.match(readFileSync(join(dataDir, 'kmd.net'), 'utf8'), /^0\.0\.0\.0:[0-9]+$/)
  assert.equal((await fetch(`http://${daemon.address}/versions`)).status, 200)
})

test('a link to the console can be opened once, by a browser on this machine', async (t) => {
  const dataDir = temporaryDirectory(t)
  writeFileSync(join(dataDir, 'kmd_config.json'), '{"address":"0.0.0.0:0"}')
  const daemon = await Daemon.start({ dataDir, wire: 'reference' })
  t.after(() => daemon.stop())
  const link = new URL(daemon.consoleLink())
  assert.equal(link.hostname, '127.0.0.1')
  assert.equal(link.port, daemon.address.slice(daemon.address.lastIndexOf(':') + 1))
  assert.equal(link.pathname, '/console/')
  const open = async (): Promise<number> => {
    const body = JSON.stringify({ ticket: link.hash.slice(1) })
    return (await fetch(new URL('/latchkey/v1/console/session', link), { method: 'POST', body })).status
  }
  assert.deepEqual([await open(), await open()], [200, 401])
})

test('the node option overrides the setting', async (t) => {
  const dataDir = temporaryDirectory(t)
  const settings = { address: '127.0.0.1:0', algod: { url: 'http://127.0.0.1:1/file' } }
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify(settings))
  const messageWith = async (node?: { url: string }): Promise<string> => {
    const daemon = await Daemon.start({ dataDir, wire: 'reference', node })
    const headers = { 'x-kmd-api-token': readFileSync(daemon.tokenFile, 'utf8') }
    const response = await fetch(`http://${daemon.address}/latchkey/v1/node`, { headers })
    await daemon.stop()
    return ((await response.json()) as { message: string }).message
  }
  assert.match(await messageWith(), /^the node at http:\/\/127\.0\.0\.1:1\/file cannot be reached/)
  assert.match(await messageWith({ url: 'http://127.0.0.1:1/option' }), /^the node at http:\/\/127\.0\.0\.1:1\/option/)
})

test('an invalid node URL prevents the start and leaves nothing behind', async (t) => {
  const dataDir = temporaryDirectory(t)
  writeFileSync(join(dataDir, 'kmd_config.json'), '{"address":"127.0.0.1:0","algod":{"url":"nonsense"}}')
  const starting = Daemon.start({ dataDir, wire: 'reference' })
  await assert.rejects(starting, {
    code: 'start_failed',
    exitCode: 3,
    message: 'the node must be an http or https URL',
  })
  writeFileSync(join(dataDir, 'kmd_config.json'), '{"address":"127.0.0.1:0","algod":{"url":""}}')
  await (await Daemon.start({ dataDir, wire: 'reference' })).stop()
})
