/** Tests the ports of servers that keep theirs: no other test gets one, even while no server listens. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '../support/freePort.test.helper.js'

const helper = new URL('../support/freePort.test.helper.js', import.meta.url).href
const program = `
  const { freePort } = await import(process.argv[1])
  console.log(JSON.stringify(await Promise.all(Array.from({ length: 300 }, freePort))))`

test('processes that look for ports at the same time get different ones', { timeout: 120_000 }, async () => {
  const own = await Promise.all(Array.from({ length: 300 }, freePort))
  const args = ['--input-type=module', '-e', program, helper]
  const others = await Promise.all([1, 2].map(() => promisify(execFile)(process.execPath, args)))
  const ports = [...own, ...others.flatMap(({ stdout }) => JSON.parse(stdout) as number[])]
  for (const port of own) assert.equal(ports.filter((other) => other === port).length, 1)
})

test('no connection and no server on port 0 gets such a port', async () => {
  const [lowest] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/)
  assert.ok((await freePort()) < Number(lowest))
})
