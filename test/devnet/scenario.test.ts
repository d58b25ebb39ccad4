/** Runs the scenario that any algod passes, on the devnet in each block mode. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Devnet } from '@latchkey/devnet'
import { devnetDispenser } from './funder.test.helper.js'
import { runScenario, type StepResult, steps } from './scenario.js'
import { accountOf, clientOf, startDevnet } from './start.test.helper.js'

const program = fileURLToPath(new URL('./scenario.js', import.meta.url))
const timeout = 300_000

async function assertPasses(devnet: Devnet): Promise<void> {
  const logged: StepResult[] = []
  const funder = accountOf(devnet.dispenser)
  const results = await runScenario({ algod: clientOf(devnet), funder, log: (result) => logged.push(result) })
  assert.deepEqual(
    results.filter(({ ok }) => !ok),
    [],
  )
  assert.deepEqual(
    results.map(({ name }) => name),
    steps.map(({ name }) => name),
  )
  assert.deepEqual(logged, results)
  for (const { round } of results) assert.ok(round! > 0n && round! <= devnet.round)
}

test('passes with blocks at an interval', { timeout }, async (t) => {
  await assertPasses(await startDevnet(t, { blocks: { everyMs: 50 } }))
})

test('passes with instant blocks and a token, twice on the same ledger', { timeout }, async (t) => {
  const devnet = await startDevnet(t, { token: 'b'.repeat(64) })
  await assertPasses(devnet)
  await assertPasses(devnet)
})

test('stops at the first failed step with its error', { timeout }, async (t) => {
  const devnet = await startDevnet(t)
  // The first submission fails.
  devnet.addFault({ type: 'fail', status: 503, message: 'out of order', count: 1 })
  const results = await runScenario({ algod: clientOf(devnet), funder: accountOf(devnet.dispenser) })
  assert.deepEqual(
    results.map(({ name, ok }) => ({ name, ok })),
    [{ name: steps[0]!.name, ok: false }],
  )
  assert.match(results[0]!.error!, /503.*out of order/)
})

type Ended = { code: number; stdout: string; stderr: string }

function run(args: readonly string[], environment: { [name: string]: string } = {}): Promise<Ended> {
  const env = { PATH: process.env['PATH'] ?? '', ...environment }
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], { env, timeout }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
}

test('as a program, finds the dispenser', { timeout }, async (t) => {
  const token = 'c'.repeat(64)
  const devnet = await startDevnet(t, { token })
  assert.equal(String(devnetDispenser().addr), devnet.dispenser.address)
  const { port } = new URL(devnet.url)
  const environment = { ALGOD_SERVER: 'http://127.0.0.1', ALGOD_PORT: port, ALGOD_TOKEN: token }
  const listed = await run(['--json'], environment)
  assert.deepEqual([listed.code, listed.stderr], [0, ''])
  const results = JSON.parse(listed.stdout) as { name: string; ok: boolean; round: number }[]
  assert.equal(results.length, steps.length)
  for (const { ok, round } of results) assert.ok(ok && Number.isInteger(round))

  // A different funder, given by its mnemonic.
  const { address, mnemonic } = devnet.accounts[0]!
  const before = await clientOf(devnet).accountInformation(address).do()
  const printed = await run(['--algod', devnet.url, '--token', token], { DISPENSER_MNEMONIC: mnemonic })
  assert.deepEqual([printed.code, printed.stderr], [0, ''])
  const lines = printed.stdout.trimEnd().split('\n')
  assert.equal(lines.length, steps.length)
  for (const line of lines) assert.match(line, /^ok {6}.+ \(round [0-9]+\)$/)
  const after = await clientOf(devnet).accountInformation(address).do()
  const cost = before.amount - after.amount
  assert.ok(cost > 0n && cost < 1_000_000n, `the scenario cost its funder ${cost} microAlgos`)
})

test('as a program, exits with 2 if it cannot start', { timeout }, async () => {
  const help = await run(['--help'])
  assert.equal(help.code, 0)
  assert.match(help.stdout, /^usage: /)
  const unknown = await run(['--nonsense'])
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /--nonsense.*\n\nusage: /)
  // No program listens on this port.
  const refused = await run(['--algod', 'http://127.0.0.1:1'])
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /^no response from http:\/\/127\.0\.0\.1:1: /)
})
