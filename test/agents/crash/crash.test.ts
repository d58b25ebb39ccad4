/**
 * Agent limits hold despite SIGKILL, restarts, parallel clients and a clock that is set back: the sum of all signatures
 * that left the daemon never exceeds a limit, and exactly the rest can be spent at the end. LATCHKEY_CRASH_KILLS sets
 * the number of kills.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { Address, Ed25519 } from '@latchkey/algorand'
import { DatabaseSync } from '@photostructure/sqlite'
import { Clock } from '../../faults/Service.test.helper.js'
import { makeDataDir, removeDataDir, startDaemon, type TestDaemon } from '../../support/daemon.test.helper.js'
import {
  assets,
  CrashRun,
  genesisHash,
  type Limits,
  type SigningService,
  type TestAgent,
} from './CrashRun.test.helper.js'

const kills = Number(process.env['LATCHKEY_CRASH_KILLS'] ?? 12)
/** The last epoch ends at the total limit, which is less than the daily limit times the number of epochs. */
const epochs = kills >= 100 ? 4 : 2
const agentCount = 4
const limits: Limits = {
  each: 1_000n,
  day: BigInt(kills) * 4_000n,
  total: BigInt(kills) * 4_000n * BigInt(epochs) - 6_000n,
}
const seed = Number(process.env['LATCHKEY_CRASH_SEED'] ?? 1)

test(`${kills} kills: no limit is exceeded by a unit, and no unit is lost`, {
  timeout: 60_000 + kills * 15_000,
}, async (t) => {
  const dir = makeDataDir()
  t.after(() => removeDataDir(dir))
  const { service, agents } = await createDaemon(t, dir)
  const run = new CrashRun({ service, agents, limits, kills, epochs, seed })
  const report = await run.run()
  assert.deepEqual(report.violations, [])
  assert.ok(report.cutOff > 0, 'no request was cut off')
  assert.ok(report.repeats > 0, 'no transaction was sent again')
  const recorded = recordsOf(dir)
  for (const id of run.signedIds) assert.equal(recorded.get(id), 'transaction_signed', `${id} has no record`)
  const { signatures, cutOff, refused, repeats } = report
  t.diagnostic(
    `${kills} kills: ${signatures} signatures, ${refused} refusals, ${cutOff} cut off, ${repeats} sent again`,
  )
})

test('a service that counts after signing fails the same test', { timeout: 300_000 }, async (t) => {
  const dir = makeDataDir()
  t.after(() => removeDataDir(dir))
  const naiveKills = 8
  const naiveLimits: Limits = { each: 1_000n, day: BigInt(naiveKills) * 4_000n, total: BigInt(naiveKills) * 7_000n }
  const { service, agents } = createNaive(dir, naiveLimits)
  const run = new CrashRun({ service, agents, limits: naiveLimits, kills: naiveKills, epochs: 2, seed })
  const { violations } = await run.run()
  assert.ok(
    violations.some((violation) => /over a limit/.test(violation)),
    'no limit was exceeded',
  )
  t.diagnostic(`${violations.length} violations, such as: ${violations[0]}`)
})

/** Creates the daemon on its data directory, with a wallet and four agents. */
async function createDaemon(t: TestContext, dir: string): Promise<{ service: SigningService; agents: TestAgent[] }> {
  const clock = new Clock(dir, 'daemon')
  let daemon: TestDaemon | undefined
  const service: SigningService = {
    start: async () => {
      daemon = await startDaemon({ dir, env: clock.env })
      return daemon.baseUrl
    },
    kill: async () => daemon?.kill(),
    setClock: (seconds) => clock.set(seconds),
  }
  t.after(() => service.kill())
  await service.start()
  const agents = await createAgents(daemon!)
  await service.kill()
  return { service, agents }
}

async function createAgents({ call }: TestDaemon): Promise<TestAgent[]> {
  const ok = async (path: string, body: unknown) => {
    const response = await call('POST', path, body)
    assert.equal(response.status, 200, response.text)
    return response.json
  }
  const wallet_password = 'secret'
  const { wallet } = await ok('/v1/wallet', { wallet_name: 'w', wallet_driver_name: 'sqlite', wallet_password })
  const { wallet_handle_token } = await ok('/v1/wallet/init', { wallet_id: wallet.id, wallet_password })
  const agents: TestAgent[] = []
  for (let number = 0; number < agentCount; number++) {
    const { address } = await ok('/v1/key', { wallet_handle_token })
    const grant = { name: `agent ${number}`, wallet_id: wallet.id, wallet_password, addresses: [address], rules }
    const { token } = await ok('/latchkey/v1/agents', grant)
    agents.push({ token, publicKey: Address.decode(address) })
  }
  return agents
}

const rules = {
  networks: [genesisHash],
  limits: assets.flatMap((asset) =>
    (['payment', 'day', 'total'] as const).map((per) => ({
      ...{ per, network: genesisHash, type: 'amount', asset_id: `${asset}` },
      amount: `${per === 'payment' ? limits.each : limits[per]}`,
    })),
  ),
  payees: { allow_all: true },
}

/** Returns the record of each transaction in the log; every signature must have one. */
function recordsOf(dir: string): Map<string, string> {
  const database = new DatabaseSync(join(dir, 'latchkey_state.db'))
  const [check] = database.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[]
  assert.equal(check!.integrity_check, 'ok')
  const rows = database.prepare('SELECT record FROM audit ORDER BY number').all() as { record: string }[]
  database.close()
  const events = rows.map(({ record }) => JSON.parse(record) as { event: string; transaction?: string })
  const signed = events.filter(({ event }) => event === 'transaction_signed')
  return new Map(signed.map(({ event, transaction }) => [transaction!, event]))
}

function createNaive(dir: string, naiveLimits: Limits): { service: SigningService; agents: TestAgent[] } {
  const clock = new Clock(dir, 'naive')
  const seeds = Array.from({ length: agentCount }, (_, number) => Buffer.alloc(32, number + 1))
  const file = join(dir, 'naive.json')
  const named = Object.fromEntries(seeds.map((one, number) => [`token-${number}`, one.toString('hex')]))
  const settings = Object.entries(naiveLimits).map(([name, amount]) => [name, `${amount}`])
  writeFileSync(file, JSON.stringify({ ...Object.fromEntries(settings), seeds: named }))
  const program = new URL('./naive-daemon.test.helper.js', import.meta.url).pathname
  let child: ReturnType<typeof spawn> | undefined
  const service: SigningService = {
    start: async () => {
      child = spawn(process.execPath, [program, file], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, ...clock.env },
      })
      const [port] = await once(createInterface(child.stdout!), 'line')
      return `http://127.0.0.1:${port}`
    },
    kill: async () => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
    setClock: (seconds) => clock.set(seconds),
  }
  const agents = seeds.map((one, number) => ({
    token: `token-${number}`,
    publicKey: Ed25519.keyPairFromSeed(one).publicKey,
  }))
  return { service, agents }
}
