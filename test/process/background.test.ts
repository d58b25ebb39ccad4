/** Tests `latchkey kmd start`, `stop` and `status`: the daemon in the background. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { Kmd } from '@latchkey/kmd-client'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { hostedLatchkey, latchkey, type Outcome } from '../support/latchkey.test.helper.js'
import { atEnd, dataDirectory, isAlive, temporaryDirectory, until } from './commands.test.helper.js'

/** A start runs in a process of its own: the daemon outlives it. */
function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  return args[0] === 'start' ? latchkey(['kmd', ...args], { env }) : hostedLatchkey(['kmd', ...args], { env })
}

/** Returns a data directory whose daemon is stopped at the end of the test if it still runs. */
function directory(t: TestContext, settings: { [name: string]: unknown } | string = {}): string {
  const dataDir = dataDirectory(t, settings)
  atEnd(t, async () => {
    if (existsSync(join(dataDir, 'kmd.pid'))) await run(['stop', '-d', dataDir])
  })
  return dataDir
}

const started = async (dataDir: string, ...args: string[]): Promise<{ pid: number; address: string }> => {
  const { code, stdout, stderr } = await run(['start', '-d', dataDir, '--json', ...args])
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

suite('the daemon in the background', { concurrency: 2 }, () => {
  test('start returns when the daemon responds, status describes it, and stop ends it', async (t) => {
    const dataDir = directory(t)
    assert.equal((await run(['status', '-d', dataDir])).code, 5)
    const { pid, address } = await started(dataDir, '--wire', 'reference', '--log-level', 'warning')
    assert.equal(readFileSync(join(dataDir, 'kmd.pid'), 'utf8'), String(pid))
    assert.equal((await fetch(`http://${address}/versions`)).status, 200, 'the wire is passed on')
    // Its session has no terminal, and its parent is gone.
    const [, , , , , session, terminal] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(' ')
    assert.deepEqual([session, terminal], [String(pid), '0'])
    const status = await run(['status', '-d', dataDir, '--json'])
    assert.equal(status.code, 0)
    const { running, answers, pid: shown, health } = JSON.parse(status.stdout)
    assert.deepEqual([running, answers, shown, health.status], [true, true, pid, 'ok'])
    assert.match(
      (await run(['status', '-d', dataDir])).stdout,
      /^The key daemon [0-9.]+ has been running for \d+ \w+\./,
    )
    const again = await run(['start', '-d', dataDir])
    assert.equal(again.code, 4)
    assert.match(again.stderr, new RegExp(`is already running in .*, as process ${pid}; use it, or stop it first`))
    const stopped = await latchkey(['kmd', 'stop', '-d', dataDir, '--json'])
    assert.deepEqual([stopped.code, JSON.parse(stopped.stdout)], [0, { pid, dataDir, killed: false }])
    assert.equal(isAlive(pid), false)
    for (const name of ['kmd.pid', 'kmd.net']) assert.equal(existsSync(join(dataDir, name)), false)
    const none = await run(['stop', '-d', dataDir])
    assert.deepEqual([none.code, none.stdout], [5, ''])
    assert.match(none.stderr, /no key daemon is running in/)
  })

  test('of several concurrent starts, one succeeds, and the others report that the daemon is running', async (t) => {
    const dataDir = directory(t)
    const outcomes = await Promise.all([1, 2, 3].map(() => run(['start', '-d', dataDir, '--json'])))
    assert.deepEqual(outcomes.map(({ code }) => code).sort(), [0, 4, 4], outcomes.map(({ stderr }) => stderr).join())
    const { pid } = JSON.parse(outcomes.find(({ code }) => code === 0)!.stdout)
    assert.equal(readFileSync(join(dataDir, 'kmd.pid'), 'utf8'), String(pid))
  })

  test('a daemon that cannot start reports why and exits with 3', async (t) => {
    const dataDir = directory(t, '{"session_lifetime_secs": "soon"}')
    for (let i = 0; i < 2; i++) {
      const { code, stderr, stdout } = await run(['start', '-d', dataDir])
      assert.deepEqual([code, stdout], [3, ''])
      assert.match(stderr, /session_lifetime_secs must be an integer of at least 0/)
      assert.equal(stderr.trim().split('\n').length, 1)
    }
    assert.equal((await run(['start', '--nonsense'])).code, 2)
    assert.equal((await run(['start', '-d', dataDir, '--node', 'ftp://x'])).code, 3)
  })

  test('after SIGKILL, stop stops nothing, and the next start succeeds', async (t) => {
    const dataDir = directory(t)
    const { pid } = await started(dataDir)
    process.kill(pid, 'SIGKILL')
    await until('it to be gone', () => !isAlive(pid))
    assert.equal(readFileSync(join(dataDir, 'kmd.pid'), 'utf8'), String(pid), 'it leaves its id behind')
    const status = await run(['status', '-d', dataDir])
    assert.equal(status.code, 5)
    assert.match(status.stdout, /one was killed and left kmd\.pid behind/)
    const stopped = await run(['stop', '-d', dataDir])
    assert.equal(stopped.code, 5)
    assert.match(stopped.stderr, /the last daemon was killed and left kmd\.pid behind/)
    assert.notEqual((await started(dataDir)).pid, pid)
  })

  test('a program that has the process id of a killed daemon is never ended', async (t) => {
    const dataDir = directory(t)
    const stranger = spawn('sleep', ['600'], { stdio: 'ignore' })
    atEnd(t, () => stranger.kill('SIGKILL'))
    await once(stranger, 'spawn')
    writeFileSync(join(dataDir, 'kmd.lock'), '')
    for (const text of [String(stranger.pid), `${stranger.pid}\nmore`]) {
      writeFileSync(join(dataDir, 'kmd.pid'), text)
      const { code, stderr } = await run(['stop', '-d', dataDir, '--timeout', '1'])
      assert.equal(code, 5)
      assert.match(stderr, new RegExp(`process ${stranger.pid} in kmd.pid is another program and was not stopped`))
    }
    for (const text of ['', '-1', '0', '1e3', 'x', `${process.pid} `, '99999999999']) {
      writeFileSync(join(dataDir, 'kmd.pid'), text)
      assert.equal((await run(['stop', '-d', dataDir])).code, 5, text)
    }
    assert.equal(stranger.exitCode, null)
    assert.equal(stranger.signalCode, null)
    // A stale process id is no obstacle, either.
    writeFileSync(join(dataDir, 'kmd.pid'), String(stranger.pid))
    assert.notEqual((await started(dataDir)).pid, stranger.pid)
  })

  test('stop finishes requests in progress: signatures are returned', async (t) => {
    const dataDir = directory(t)
    const { pid } = await started(dataDir)
    const kmd = await Kmd.connect({ dataDir })
    await kmd.wallets.create({ name: 'w', password: 'p' })
    const wallet = await kmd.unlock({ name: 'w', password: 'p' })
    const address = await wallet.generateKey()
    let signed = 0
    const sign = async (): Promise<unknown> => {
      for (;;) {
        await wallet.signProgram({ address, program: new Uint8Array([1]), password: 'p' })
        signed++
      }
    }
    const ends = [1, 2, 3].map(() => sign().catch((error: unknown) => error))
    await until('some signatures', async () => signed > 50 || (await Promise.race([...ends, undefined])) !== undefined)
    if (signed <= 50) assert.fail(String(await Promise.race(ends)))
    const stopped = await run(['stop', '-d', dataDir])
    assert.deepEqual([stopped.code, stopped.stderr], [0, ''])
    for (const error of await Promise.all(ends)) assert.ok(error instanceof Error)
    kmd.close()
    assert.equal(isAlive(pid), false)
    const log = readFileSync(join(dataDir, 'kmd.log'), 'utf8').trim().split('\n')
    const lines = log.map((line) => JSON.parse(line) as { route?: string; status?: number; incomplete?: boolean })
    const signatures = lines.filter(({ route }) => route === '/v1/program/sign')
    assert.ok(signatures.length >= signed, `${signatures.length} lines of ${signed} signatures`)
    assert.ok(signatures.every(({ status }) => status === 200))
  })

  test('a daemon that does not stop in time is killed, which is reported', async (t) => {
    const dataDir = directory(t)
    const { pid } = await started(dataDir)
    process.kill(pid, 'SIGSTOP')
    const { code, stdout, stderr } = await run(['stop', '-d', dataDir, '--timeout', '1', '--json'])
    assert.deepEqual([code, JSON.parse(stdout).killed], [0, true])
    assert.match(stderr, /did not stop within 1 s and was killed/)
    assert.equal(isAlive(pid), false)
  })

  test('Ctrl-C during the start stops the daemon, too', async (t) => {
    const dataDir = directory(t)
    const child = spawn(process.execPath, [latchkeyCommand, 'kmd', 'start', '-d', dataDir], {
      env: { PATH: process.env['PATH'], HOME: temporaryDirectory(t) },
    })
    atEnd(t, () => child.kill('SIGKILL'))
    await until('the daemon to begin', () => existsSync(join(dataDir, 'kmd-err.log')))
    child.kill('SIGINT')
    const [code] = await once(child, 'close')
    // The daemon may have responded before the signal arrived.
    if (code === 0) return
    assert.ok(code === 130 || code === null, String(code))
    await until('the daemon to be gone', async () => (await run(['status', '-d', dataDir])).code === 5)
  })

  test('secrets in the environment are not passed on to the daemon', async (t) => {
    const dataDir = directory(t)
    const secrets = { AVM_MNEMONIC: 'planted one', AVM_PRIVATE_KEY: 'planted two', KMD_PASSWORD: 'planted three' }
    const { code, stdout, stderr } = await run(['start', '-d', dataDir, '--json'], secrets)
    assert.equal(code, 0, stderr)
    assert.doesNotMatch(readFileSync(`/proc/${JSON.parse(stdout).pid}/environ`, 'latin1'), /planted/)
  })
})
