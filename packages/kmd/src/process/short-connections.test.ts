/** An agent in the daemon's account that closes each connection as soon as it has the response. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Daemon } from './Daemon.js'

const skip = process.platform === 'linux' ? false : 'only Linux reports the users of connections'
const settings = { address: '127.0.0.1:0', drivers: { sqlite: { allow_unsafe_scrypt: true, scrypt: { scrypt_n: 2 } } } }
const mostConnections = 20
/** One connection of an agent is looked up in this time. */
const lookUpEveryMs = 1_100

test("an agent in the daemon's account is noticed although its connections are short", { skip }, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kmd-short-'))
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify(settings))
  const daemon = await Daemon.start({ dataDir, limits: { stopMs: 100 } })
  t.after(async () => {
    await daemon.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const owner = readFileSync(join(dataDir, 'kmd.token'), 'utf8')
  // biome-ignore lint/suspicious/noExplicitAny: the test reads responses member by member
  const call = async (path: string, body: object): Promise<any> => {
    const headers = { 'x-kmd-api-token': owner }
    const response = await fetch(`http://${daemon.address}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    assert.equal(response.status, 200, path)
    return response.json()
  }
  const created = { wallet_name: 'w', wallet_password: '', wallet_driver_name: 'sqlite' }
  const { id: wallet_id } = (await call('/v1/wallet', created)).wallet
  const { wallet_handle_token } = await call('/v1/wallet/init', { wallet_id, wallet_password: '' })
  const { address } = await call('/v1/key', { wallet_handle_token })
  const network = Buffer.alloc(32, 7).toString('base64')
  const limits = [{ per: 'day', network, type: 'amount', asset_id: '0', amount: '1000' }]
  const rules = { networks: [network], limits, payees: { allow_all: true } }
  const agent = { name: 'a', wallet_id, wallet_password: '', addresses: [address], expires_at_ms: 0, rules }
  const { token } = await call('/latchkey/v1/agents', agent)
  const isNoticed = async (): Promise<boolean> => {
    const headers = { 'x-kmd-api-token': owner }
    const response = await fetch(`http://${daemon.address}/latchkey/v1/agents`, { headers })
    return ((await response.json()) as { agents: { same_user: boolean }[] }).agents[0]!.same_user
  }
  // A lookup takes milliseconds; on an overloaded machine with many connections, a response may not wait long enough.
  for (let connection = 1; connection <= mostConnections && !(await isNoticed()); connection++) {
    if (connection > 1) await sleep(lookUpEveryMs)
    await askBriefly(daemon.address, token)
  }
  assert.ok(await isNoticed())
})

/** Closes the connection with the first bytes of the response. */
async function askBriefly(address: string, token: string): Promise<void> {
  const [host, port] = address.split(':') as [string, string]
  const socket = connect(Number(port), host)
  socket.write(`GET /latchkey/v1/agent HTTP/1.1\r\nHost: localhost\r\nX-KMD-API-Token: ${token}\r\n\r\n`)
  const [data] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  assert.match(data.toString('latin1'), /^HTTP\/1\.1 200 /)
}
