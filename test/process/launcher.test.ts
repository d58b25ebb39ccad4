/** Starts and stops the daemon in the same steps as the Go node's own tools. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { client, kmdCommand } from '../support/daemon.test.helper.js'
import { atEnd, configure, dataDirectory, sleep, temporaryDirectory } from './commands.test.helper.js'

const pollMs = 100
/** The launcher has no limit, but a test needs one. */
const launchLimitMs = 60_000
const killAfterMs = 60_000

type Launch = { outcome: 'started' | 'already running' }

test('starts in a directory that the launcher creates, and reports a running daemon', async (t) => {
  const dataDir = join(temporaryDirectory(t), 'kmd-v0.5')
  const first = await launch(t, dataDir, 180)
  assert.equal(first.outcome, 'started')
  const pid = readPid(dataDir)!
  assert.equal((await launch(t, dataDir, 180)).outcome, 'already running')
  assert.equal(readPid(dataDir), pid)
  assert.equal(await stop(dataDir), 'stopped')
  assert.equal(await stop(dataDir), "kmd doesn't appear to be running")
  for (const name of ['kmd-out.log', 'kmd-err.log']) assert.equal(readFileSync(join(dataDir, name), 'utf8'), '')
})

test('two concurrent launchers start one daemon, and both find it', async (t) => {
  const dataDir = dataDirectory(t)
  const [one, two] = await Promise.all([launch(t, dataDir, 0), launch(t, dataDir, 0)])
  assert.deepEqual([one.outcome, two.outcome].sort(), ['already running', 'started'])
  assert.equal(await stop(dataDir), 'stopped')
})

test('the launcher detects the stale pid of a killed daemon', async (t) => {
  const dataDir = dataDirectory(t)
  await launch(t, dataDir, 0)
  const pid = readPid(dataDir)!
  process.kill(pid, 'SIGKILL')
  while (isAlive(pid)) await sleep(10)
  assert.equal((await launch(t, dataDir, 0)).outcome, 'started')
  assert.notEqual(readPid(dataDir), pid)
  assert.equal(await stop(dataDir), 'stopped')
})

test('reports a daemon that cannot start', async (t) => {
  const dataDir = dataDirectory(t, '{"session_lifetime_secs":-1}')
  await assert.rejects(launch(t, dataDir, 0), /kmd exited before we could contact it \(3\)/)
})

test('is ready on every start', async (t) => {
  const dataDir = dataDirectory(t)
  for (let round = 0; round < 3; round++) {
    assert.equal((await launch(t, dataDir, 0)).outcome, 'started', `start ${round}`)
    assert.equal(await stop(dataDir), 'stopped')
  }
})

async function launch(t: TestContext, dataDir: string, idleSecs: number): Promise<Launch> {
  const startedAt = performance.now()
  const known = readPid(dataDir)
  if (known !== undefined) {
    if (isAlive(known)) return { outcome: 'already running' }
    rmSync(join(dataDir, 'kmd.pid'))
  }
  prepare(dataDir)
  const output = (name: string) => openSync(join(dataDir, name), 'a', 0o600)
  const stdio = ['ignore', output('kmd-out.log'), output('kmd-err.log')] as const
  const child = spawn(kmdCommand, ['-d', dataDir, '-t', String(idleSecs)], { stdio: [...stdio] })
  atEnd(t, () => child.kill('SIGKILL'))
  while (performance.now() - startedAt < launchLimitMs) {
    await sleep(pollMs)
    // The launcher reports how its child exited before it checks whether the address responds.
    if (child.exitCode !== null) {
      if (child.exitCode !== 4) throw new Error(`kmd exited before we could contact it (${child.exitCode})`)
      if (await probe(dataDir)) return { outcome: 'already running' }
    } else if (readPid(dataDir) === child.pid && (await probe(dataDir))) {
      return { outcome: 'started' }
    }
  }
  throw new Error('the launcher would wait forever')
}

/** Creates the directory as private if it is missing; rejects it if others can read it. */
function prepare(dataDir: string): void {
  if (!existsSync(dataDir)) {
    mkdirSync(dataDir, { mode: 0o700 })
    configure(dataDir, {})
  }
  assert.equal(statSync(dataDir).mode & 0o077, 0, 'kmd data dir not secure')
}

/** Sends the Go client's request: a GET with the body `{}` and no content type. */
async function probe(dataDir: string): Promise<boolean> {
  const token = firstLine(join(dataDir, 'kmd.token'))
  const address = firstLine(join(dataDir, 'kmd.net'))
  if (!token || !address) return false
  assert.ok(token.length >= 64 && token.length <= 256, 'half a token was there to read')
  assert.match(address, /^127\.0\.0\.1:[0-9]+$/, 'half an address was there to read')
  const response = await client(address, token)('GET', '/versions', '{}').catch(() => undefined)
  if (response === undefined) return false
  assert.equal(response.status, 200)
  assert.deepEqual(response.json, { versions: ['v1'] })
  return true
}

async function stop(dataDir: string): Promise<string> {
  const pid = readPid(dataDir)
  if (pid === undefined) return "kmd doesn't appear to be running"
  process.kill(pid, 'SIGTERM')
  const giveUpAt = performance.now() + killAfterMs
  while (isAlive(pid)) {
    if (performance.now() > giveUpAt) return 'killed'
    await sleep(pollMs)
  }
  return 'stopped'
}

function readPid(dataDir: string): number | undefined {
  const line = firstLine(join(dataDir, 'kmd.pid'))
  if (!line) return undefined
  assert.match(line, /^[0-9]+$/)
  return Number(line)
}

function firstLine(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1').split('\n', 1)[0]
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
