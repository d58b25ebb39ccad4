/** Tests `latchkey kmd start --unix-socket`, an agent over the socket, and the report of `latchkey doctor`. */
import assert from 'node:assert/strict'
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Kmd } from '@latchkey/kmd-client'
import { hostedLatchkey, latchkey } from '../support/latchkey.test.helper.js'
import { atEnd, dataDirectory, temporaryDirectory, until } from './commands.test.helper.js'

const timeout = 120_000
const skip = process.platform === 'linux' ? false : 'only Linux tells the user of a peer'

test('an agent is served over a Unix socket, and doctor reports that its user is the daemon’s', {
  timeout,
  skip,
}, async (t) => {
  const dataDir = dataDirectory(t)
  const path = join(temporaryDirectory(t), 'kmd.sock')
  const started = await latchkey(['kmd', 'start', '-d', dataDir, '--unix-socket', path, '--json'])
  assert.equal(started.code, 0, started.stderr)
  atEnd(t, () => hostedLatchkey(['kmd', 'stop', '-d', dataDir]))
  assert.equal(lstatSync(path).mode & 0o777, 0o600)
  const token = readFileSync(join(dataDir, 'kmd.token'), 'utf8')
  const kmd = await Kmd.connect({ address: `unix:${path}`, token })
  atEnd(t, () => kmd.close())
  const { id: walletId } = await kmd.wallets.create({ name: 'purse', password: '' })
  const address = await (await kmd.unlock({ id: walletId })).generateKey()
  const network = Buffer.alloc(32, 7).toString('base64')
  const limits = [{ per: 'day', network, type: 'amount', assetId: 0n, amount: 1_000_000n }] as const
  const rules = { networks: [network], limits, payees: { allow: 'all' } } as const
  const made = await kmd.agents.create({ name: 'shopper', walletId, addresses: [address], rules })
  const doctor = async () => (await hostedLatchkey(['doctor', '-d', dataDir])).stdout
  assert.doesNotMatch(await doctor(), /shopper/)
  const agent = await Kmd.asAgent({ address: `unix:${path}`, token: made.token })
  atEnd(t, () => agent.close())
  await until('the user of the agent', async () => (await agent.self()).agent.isSameUser)
  const said = await doctor()
  assert.match(said, /^warning {2}agent shopper: used by the daemon's user or by root/m)
  assert.match(said, /cure: run the daemon as its own user \(sudo latchkey service install/)
  assert.match(readFileSync(join(dataDir, 'kmd.log'), 'utf8'), /runs as the daemon's user/)
  assert.equal((await hostedLatchkey(['kmd', 'stop', '-d', dataDir])).code, 0)
  assert.equal(existsSync(path), false)
})

test('a socket in a directory that others can write to prevents the start of the daemon', {
  timeout,
  skip,
}, async (t) => {
  const dataDir = dataDirectory(t)
  const { code, stderr } = await hostedLatchkey(['kmd', '-d', dataDir, '--unix-socket', '/tmp/latchkey-test.sock'])
  assert.notEqual(code, 0)
  assert.match(stderr, /other users can write to \/tmp/)
})
