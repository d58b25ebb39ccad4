/** Tests the command `latchkey`: its output, the files it creates, and its exit codes. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { fastConfig, kmdCommand } from '../support/daemon.test.helper.js'
import { hostedLatchkey, type Outcome } from '../support/latchkey.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { atEnd, until } from './commands.test.helper.js'

const command = join(dirname(kmdCommand), 'latchkey')

function run(args: string[], home = '/nonexistent'): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, HOME: home }, timeout: 60_000 }
    const child = execFile(command, args, options, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
  })
}

function temporaryHome(t: TestContext): { home: string; dataDir: string } {
  const home = mkdtempSync(join(tmpdir(), 'latchkey-test-'))
  atEnd(t, () => rmSync(home, { recursive: true, force: true }))
  return { home, dataDir: join(home, '.latchkey', 'kmd-v0.5') }
}

/** Runs a command like `run`, in a process that ran others before. */
const runHosted = (args: string[], home = '/nonexistent'): Promise<Outcome> =>
  hostedLatchkey(args, { env: { ...process.env, HOME: home } })

/** Runs the daemon in the foreground on a free port, with fast settings. */
async function runDaemon(t: TestContext, home: string, dataDir: string, args: string[] = []) {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify(fastConfig))
  const child = spawn(command, ['kmd', ...args], { env: { ...process.env, HOME: home } })
  const exited = once(child, 'close').then(([code]) => code as number | null)
  atEnd(t, () => child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  await until('the first block', () => stdout.endsWith('\n\n') || (args.includes('--json') && stdout.endsWith('\n')))
  return { child, exited, stdout: () => stdout, stderr: () => stderr }
}

const sh = (line: string): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile('sh', ['-c', line], { timeout: 60_000 }, (error, stdout) => (error ? reject(error) : resolve(stdout)))
  })

suite('latchkey', { concurrency: 2 }, () => {
  test('prints its help and its version', async () => {
    for (const args of [[], ['help'], ['--help'], ['-h']]) {
      const { code, stdout } = await (args.length === 0 ? run(args) : runHosted(args))
      assert.equal(code, 0)
      for (const word of ['latchkey <command>', 'Start:', 'Pay:', 'Keys:', 'Agents:', 'Operate:', 'latchkey help all'])
        assert.ok(stdout.includes(word), word)
      assert.equal(stdout.match(/^ {2}[a-z]+(?: [a-z]+)? {2,}\S/gm)?.length, 10, 'ten commands')
      assert.ok(stdout.split('\n').length <= 30, 'fits a screen')
    }
    const all = await runHosted(['help', 'all'])
    assert.equal(all.code, 0)
    for (const word of ['latchkey <command>', 'kmd', 'token rotate', 'devnet accounts', 'help exit-codes'])
      assert.ok(all.stdout.includes(word), word)
    const { version } = JSON.parse(readFileSync(new URL('../../../packages/kmd/package.json', import.meta.url), 'utf8'))
    assert.equal((await run(['--version'])).stdout, `${version}\n`)
    for (const name of ['kmd', 'token rotate']) {
      const { code, stdout } = await runHosted([...name.split(' '), '--help'])
      assert.equal(code, 0)
      assert.match(stdout, new RegExp(`latchkey ${name} \\[options\\]`))
    }
  })

  test('invalid usage exits with 2 and one line with a suggestion', async () => {
    const wrong: [string[], RegExp][] = [
      [['nope'], /unknown command "nope"; latchkey help all lists the commands/],
      [['token', 'rotat'], /unknown command "token rotat"; did you mean token rotate\? latchkey token --help lists/],
      [['devent'], /did you mean devnet\?/],
      [['walet', 'new'], /unknown command "walet"; did you mean wallet\?/],
      [['help', 'nope'], /no help for "nope"; latchkey help all lists the commands/],
      [['help', 'wlalet'], /no help for "wlalet"; did you mean wallet\?/],
      [['help', 'exit-code'], /did you mean exit-codes\?/],
      [['help', 'wallet', 'nwe'], /did you mean wallet new\?/],
      [['completions', 'bsah'], /SHELL must be bash or zsh or fish; did you mean bash\?/],
      [['kmd', '--wier', 'reference'], /unknown option --wier; did you mean --wire\? see latchkey kmd --help/],
      [['kmd', '--wire', 'refrence'], /did you mean reference\?/],
      [['facilitator', '--network', 'tesnet'], /unknown network tesnet; did you mean testnet\?/],
      [['facilitator', '--network', 'ethereum'], /unknown network ethereum; use mainnet, testnet, betanet, local or/],
      [['kmd', '--nope'], /^latchkey kmd: unknown option --nope; did you mean --node\? see latchkey kmd --help$/m],
      [['kmd', '-t', 'soon'], /--timeout must be a number from 0 to 2147483/],
      [['kmd', '--wire', 'copper'], /--wire must be documented or reference/],
      [['kmd', 'strat'], /unknown command "kmd strat"; did you mean kmd start\?/],
      [['doctor', 'extra'], /unexpected argument "extra"/],
      [['kmd', '-d'], /-d needs a value/],
      [['kmd', '--json=yes'], /--json takes no value/],
      [['pay'], /URL is missing/],
      [['kmd', '--node', 'ftp://x'], /--node must be an http or https URL/],
    ]
    for (const [args, message] of wrong) {
      // The first in a process, whose exit code is that of the command.
      const { code, stdout, stderr } = await (args[0] === 'nope' ? run(args) : runHosted(args))
      assert.equal(code, 2, args.join(' '))
      assert.match(stderr, message)
      assert.match(stderr, /^[^\n]+\n$/, 'one line')
      assert.equal(stdout, '')
    }
  })
})

suite('an error with --json', () => {
  test('is an object on stdout, with the exit code and the line on stderr as without it', async (t) => {
    const { home } = temporaryHome(t)
    const cases: [string[], number, string][] = [
      [['wallet', 'list'], 5, 'daemon_not_running'],
      [['balance', '--network', 'tesnet'], 2, 'invalid_value'],
      [['contact', 'list', '--nope'], 2, 'unknown_option'],
    ]
    for (const [args, expected, errorCode] of cases) {
      const plain = await runHosted(args, home)
      const { code, stdout, stderr } = await runHosted([...args, '--json'], home)
      assert.deepEqual([plain.code, code], [expected, expected], args.join(' '))
      assert.equal(stderr, plain.stderr)
      assert.equal(plain.stdout, '')
      const { error, ...others } = JSON.parse(stdout)
      assert.deepEqual(others, {})
      assert.deepEqual(Object.keys(error), ['code', 'message', 'hint'])
      assert.equal(error.code, errorCode)
      assert.ok(stderr.includes(error.message), stderr)
      assert.ok(error.hint === null || stderr.includes(error.hint), stderr)
    }
  })
})

suite('a Node that is too old', () => {
  /** Runs an entry point with a fake Node version. */
  const runWith = (version: string, path: string): Promise<Outcome> => {
    const entry = new URL(`../../../${path}`, import.meta.url).href
    const script = `Object.defineProperty(process, 'versions', { value: { node: '${version}' } }); import('${entry}')`
    return new Promise((resolve) => {
      const child = execFile(process.execPath, ['-e', script, 'x', '--version'], (_, stdout, stderr) =>
        resolve({ code: child.exitCode, stdout, stderr }),
      )
    })
  }

  test('gets one line from every entry point', async () => {
    const entries = ['packages/cli/bin/latchkey.js', 'packages/cli/bin/kmd.js', 'scripts/start.mjs', 'scripts/test.mjs']
    for (const version of ['12.22.0', '18.20.8', '20.18.3']) {
      for (const path of version.startsWith('18') ? entries : entries.slice(0, 1)) {
        const line = `latchkey needs Node 20.19 or newer, and this is Node ${version}; see https://nodejs.org\n`
        assert.deepEqual(await runWith(version, path), { code: 3, stdout: '', stderr: line }, path)
      }
    }
  })

  test('20.19 and later versions pass', async () => {
    for (const version of ['20.19.0', '22.0.0', '100.1.0']) {
      const { code, stderr } = await runWith(version, 'packages/cli/bin/latchkey.js')
      assert.deepEqual([code, stderr], [0, ''], version)
    }
  })
})

suite('latchkey kmd', { concurrency: 2 }, () => {
  test('creates its directory, prints a working curl line, and stops on SIGINT', {
    skip: missingProgram('curl'),
  }, async (t) => {
    const { home, dataDir } = temporaryHome(t)
    const daemon = await runDaemon(t, home, dataDir)
    const block = daemon.stdout()
    assert.ok(block.includes(join(dataDir, 'kmd.token')))
    assert.equal(daemon.stderr(), '')
    const line = block.split('\n').find((text) => text.includes('curl'))
    assert.deepEqual(JSON.parse(await sh(line!)), { error: false, message: '', wallets: [] })
    daemon.child.kill('SIGINT')
    assert.equal(await daemon.exited, 0)
  })

  test('creates its directory and its parents, readable by the owner only', async (t) => {
    const { home, dataDir } = temporaryHome(t)
    const child = spawn(command, ['kmd', '-t', '1'], { env: { ...process.env, HOME: home }, stdio: 'ignore' })
    assert.deepEqual(await once(child, 'close'), [0, null])
    assert.equal(statSync(dataDir).mode & 0o777, 0o700)
    assert.equal(statSync(join(dataDir, 'kmd.token')).mode & 0o777, 0o600)
  })

  test('--json prints one line, and --wire selects the form of responses', async (t) => {
    const { home, dataDir } = temporaryHome(t)
    const daemon = await runDaemon(t, home, dataDir, ['--json', '--wire', 'reference'])
    const { address, tokenFile, wire, pid } = JSON.parse(daemon.stdout())
    assert.deepEqual([tokenFile, wire, pid], [join(dataDir, 'kmd.token'), 'reference', daemon.child.pid])
    assert.equal(await (await fetch(`${address}/versions`)).text(), '{\n  "versions": [\n    "v1"\n  ]\n}')
    daemon.child.kill('SIGTERM')
    assert.equal(await daemon.exited, 0)
  })

  test('quotes a directory for the shell', { skip: missingProgram('curl') }, async (t) => {
    const { home } = temporaryHome(t)
    const dataDir = join(home, "it's a $HOME")
    const daemon = await runDaemon(t, home, dataDir, ['-d', dataDir])
    const line = daemon
      .stdout()
      .split('\n')
      .find((text) => text.includes('curl'))
    assert.equal(JSON.parse(await sh(line!)).error, false)
  })

  test('exits with 4 if a daemon is running, with 3 if it cannot start, and warns about a readable directory', async (t) => {
    const { home, dataDir } = temporaryHome(t)
    await runDaemon(t, home, dataDir)
    const second = await run(['kmd'], home)
    assert.equal(second.code, 4)
    assert.match(second.stderr, /already running.*latchkey kmd stop.*latchkey kmd status/s)
    const broken = join(home, 'broken')
    mkdirSync(broken, { mode: 0o700 })
    writeFileSync(join(broken, 'kmd_config.json'), '{"session_lifetime_secs":-1}')
    const failed = await runHosted(['kmd', '-d', broken])
    assert.deepEqual([failed.code, failed.stdout], [3, ''])
    assert.match(failed.stderr, /session_lifetime_secs must be an integer of at least 0/)
    chmodSync(broken, 0o755)
    assert.match((await runHosted(['kmd', '-d', broken])).stderr, /other users can read .*; run: chmod 700/)
  })
})

suite('latchkey token rotate', { concurrency: 2 }, () => {
  test('a running daemon accepts the new token and refuses the old one, and neither is printed', async (t) => {
    const { home, dataDir } = temporaryHome(t)
    const daemon = await runDaemon(t, home, dataDir, ['--json'])
    const { address, tokenFile } = JSON.parse(daemon.stdout())
    const statusWith = async (token: string): Promise<number> =>
      (await fetch(`${address}/v1/wallets`, { headers: { 'X-KMD-API-Token': token } })).status
    const old = readFileSync(tokenFile, 'utf8')
    assert.equal(await statusWith(old), 200)
    const { code, stdout, stderr } = await runHosted(['token', 'rotate'], home)
    assert.deepEqual([code, stderr], [0, ''])
    const fresh = readFileSync(tokenFile, 'utf8')
    assert.notEqual(fresh, old)
    assert.deepEqual([await statusWith(fresh), await statusWith(old)], [200, 401])
    assert.ok(!stdout.includes(fresh) && !stdout.includes(old))
    const again = await runHosted(['token', 'rotate', '--json'], home)
    assert.deepEqual(JSON.parse(again.stdout), { tokenFile, daemon: 'running' })
  })

  test('works without a daemon and after one was killed, but not without a directory', async (t) => {
    const { home, dataDir } = temporaryHome(t)
    const missing = await runHosted(['token', 'rotate'], home)
    assert.equal(missing.code, 3)
    assert.match(missing.stderr, /does not exist; start the daemon in that directory first/)
    mkdirSync(dataDir, { recursive: true })
    writeFileSync(join(dataDir, 'kmd.net'), '127.0.0.1:1')
    const { code, stdout } = await runHosted(['token', 'rotate'], home)
    assert.equal(code, 0)
    assert.match(stdout, /No daemon is running/)
    assert.equal(statSync(join(dataDir, 'kmd.token')).mode & 0o777, 0o600)
  })
})
