import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Server } from '@latchkey/http'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { Daemon } from './Daemon.js'

test('everywhere is every IPv4 interface on a machine that has no IPv6', async (t) => {
  const dataDir = temporaryDirectory(t)
  writeFileSync(join(dataDir, 'kmd_config.json'), '{"address":"0.0.0.0:0"}')
  const { listen } = Server.prototype
  const asked: string[] = []
  t.mock.method(Server.prototype, 'listen', function (this: Server, host: string, port: number) {
    asked.push(host)
    const refused = Object.assign(new Error('listen EAFNOSUPPORT'), { code: 'EAFNOSUPPORT' })
    return host === '::' ? Promise.reject(refused) : listen.call(this, host, port)
  })
  const daemon = await Daemon.start({ dataDir, wire: 'reference' })
  t.after(() => daemon.stop())
  assert.deepEqual(asked, ['::', '0.0.0.0'])
  assert.match(readFileSync(join(dataDir, 'kmd.net'), 'utf8'), /^0\.0\.0\.0:[0-9]+$/)
  assert.equal((await fetch(`http://${daemon.address}/versions`)).status, 200)
})
