/** The node of a dev stack: which blocks it keeps, and which tokens it takes. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { latchkeyCommand } from '../support/devnet.test.helper.js'

/** Prints the configuration of the node, and the statuses of requests with LocalNet's token, another, and none. */
const program = `
  const { ALGOD_SERVER, ALGOD_PORT, ALGOD_TOKEN } = process.env
  const url = ALGOD_SERVER + ':' + ALGOD_PORT
  const status = async (headers) => (await fetch(url + '/v2/status', { headers })).status
  const config = await (await fetch(url + '/debug/settings/config')).json()
  const statuses = [{ 'X-Algo-API-Token': ALGOD_TOKEN }, { 'X-Algo-API-Token': 'another' }, {}].map(status)
  console.log(JSON.stringify({ archival: config.Archival, token: ALGOD_TOKEN, statuses: await Promise.all(statuses) }))
`

test('latchkey dev --archival keeps all blocks, and takes any token', { timeout: 300_000 }, async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'latchkey-node-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const env = { ...process.env, HOME: home, XDG_STATE_HOME: join(home, 'state') }
  const node = [process.execPath, '--input-type=module', '-e', program]
  const args = [latchkeyCommand, 'dev', '--any-port', '--archival', '--', ...node]
  const stdout = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, args, { env }, (error, out) => (error ? reject(error) : resolve(out)))
  })
  assert.deepEqual(JSON.parse(stdout), { archival: true, token: 'a'.repeat(64), statuses: [200, 200, 200] })
})
