/** Tests the command line and its exit codes, on which launchers rely. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { Daemon, StartError } from '@latchkey/kmd'
import { fastConfig } from '../support/daemon.test.helper.js'
import {
  atEnd,
  configure,
  dataDirectory,
  run,
  runHosted,
  start,
  startHosted,
  temporaryDirectory,
  until,
} from './commands.test.helper.js'

const usageLine = /^Usage:\n {2}kmd /m

suite('flags', { concurrency: 2 }, () => {
  for (const flag of ['-h', '--help']) {
    test(`${flag} prints the usage on stdout and exits 0`, async () => {
      const { code, stdout, stderr } = await runHosted([flag])
      assert.equal(code, 0)
      assert.equal(stderr, '')
      assert.match(stdout, usageLine)
      for (const name of ['-d, --data-dir', '-t, --timout-secs', '-h, --help']) assert.ok(stdout.includes(name), name)
    })
  }

  const refused: [title: string, args: string[], message: string][] = [
    ['no data directory', [], 'required flag(s) "data-dir" not set'],
    ['only a positional argument', ['start'], 'required flag(s) "data-dir" not set'],
    ['an unknown flag', ['-d', 'x', '--nope'], 'unknown flag: --nope'],
    ['an unknown letter', ['-d', 'x', '-z'], "unknown shorthand flag: 'z' in -z"],
    ['the name spelt right', ['-d', 'x', '--timeout-secs=60'], 'unknown flag: --timeout-secs'],
    ['a flag without its value', ['-d'], "flag needs an argument: 'd' in -d"],
    ['a long flag without its value', ['--data-dir'], 'flag needs an argument: --data-dir'],
    [
      'a number that is none',
      ['-d', 'x', '-t', 'soon'],
      'invalid argument "soon" for "-t, --timout-secs" flag: strconv.ParseUint: parsing "soon": invalid syntax',
    ],
    [
      'a negative number',
      ['-d', 'x', '-t', '-1'],
      'invalid argument "-1" for "-t, --timout-secs" flag: strconv.ParseUint: parsing "-1": invalid syntax',
    ],
    [
      'a fraction',
      ['-d', 'x', '--timout-secs=1.5'],
      'invalid argument "1.5" for "-t, --timout-secs" flag: strconv.ParseUint: parsing "1.5": invalid syntax',
    ],
  ]
  for (const [title, args, message] of refused) {
    test(`${title}: exit 1, the text on both streams, the usage on stderr`, async (t) => {
      // One of them in a process, whose exit code is that of the command.
      const { code, stdout, stderr } = await (args.length === 0 ? run(t, args) : runHosted(args))
      assert.equal(code, 1)
      assert.equal(stdout, `${message}\n`)
      assert.ok(stderr.startsWith(`Error: ${message}\n`), stderr)
      assert.match(stderr, usageLine)
    })
  }

  const accepted: string[][] = [['-t', '60'], ['-t=60'], ['--timout-secs=60', 'extra']]
  for (const args of accepted) {
    test(`accepts ${args.join(' ')}, serves, and prints nothing`, async (t) => {
      const kmd = await startHosted(t, { args })
      assert.equal((await kmd.call('GET', '/versions')).status, 200)
      assert.equal(await kmd.stop(), 0)
      assert.equal(kmd.output(), '')
    })
  }

  test('accepts the data directory in each spelling', async (t) => {
    const spellings = [(dir: string) => ['--data-dir', dir], (dir: string) => [`--data-dir=${dir}`]]
    for (const spell of [...spellings, (dir: string) => [`-d=${dir}`], (dir: string) => [`-d${dir}`]]) {
      // A configuration of two bytes is enough to show that this directory was read.
      const dataDir = dataDirectory(t, '[]')
      assert.equal((await runHosted(spell(dataDir))).code, 3)
      assert.match(readFileSync(join(dataDir, 'kmd.log'), 'utf8'), /couldn't start kmd: /)
    }
  })
})

suite('exit 2: the log cannot be opened', { concurrency: 2 }, () => {
  test('because the data directory is missing; it is not created', async (t) => {
    const missing = join(temporaryDirectory(t), 'missing')
    const { code, stdout, stderr } = await run(t, ['-d', missing])
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /^failed to open log file: .*no such file or directory.*\n$/)
    assert.equal(existsSync(missing), false)
  })

  test('because a file is in place of the data directory', async (t) => {
    const file = join(temporaryDirectory(t), 'file')
    writeFileSync(file, '')
    const { code, stderr } = await runHosted(['-d', file])
    assert.equal(code, 2)
    assert.match(stderr, /^failed to open log file: /)
  })

  test('because a directory is in place of the log', async (t) => {
    const dataDir = temporaryDirectory(t)
    spawnSync('mkdir', [join(dataDir, 'kmd.log')])
    const { code, stderr } = await runHosted(['-d', dataDir])
    assert.equal(code, 2)
    assert.match(stderr, /^failed to open log file: /)
  })
})

const scrypt = (parameters: object, more: object = {}) =>
  JSON.stringify({ address: '127.0.0.1:0', drivers: { sqlite: { scrypt: parameters, ...more } } })

suite('exit 3: the configuration', { concurrency: 2 }, () => {
  const bad: [title: string, config: string, reason: RegExp][] = [
    ['an empty file', '', /kmd_config\.json is not JSON/],
    ['white space alone', ' \n', /kmd_config\.json is not JSON/],
    ['half a file', '{"address":', /kmd_config\.json is not JSON/],
    ['garbage after the end', '{} x', /kmd_config\.json is not JSON/],
    ['a second value after the end', '{}{}', /kmd_config\.json is not JSON/],
    ['a list instead of an object', '[]', /must be an object/],
    ['a text instead of an object', '"x"', /must be an object/],
    ['a number for an address', '{"address":7833}', /address must be a string/],
    ['a text for a number', '{"session_lifetime_secs":"60"}', /session_lifetime_secs must be/],
    ['a negative number', '{"session_lifetime_secs":-1}', /session_lifetime_secs must be/],
    ['a fraction', '{"session_lifetime_secs":1.5}', /session_lifetime_secs must be/],
    ['a text for a switch', '{"allow_header_pna":"true"}', /allow_header_pna must be true or false/],
    ['one for a switch', '{"allow_header_pna":1}', /allow_header_pna must be true or false/],
    ['a text for a list', '{"allowed_origins":"*"}', /allowed_origins must be a list of strings/],
    ['a number in a list', '{"allowed_origins":[1]}', /allowed_origins must be a list of strings/],
    ['a list for a section', '{"drivers":[]}', /drivers must be an object/],
    ['a text for a section', '{"drivers":{"sqlite":"x"}}', /drivers\.sqlite must be an object/],
    ['a fraction for scrypt', scrypt({ scrypt_n: 65536.5 }), /scrypt_n must be an integer/],
    ['N below the least', scrypt({ scrypt_n: 32767 }), /slow scrypt N must be at least 32768/],
    ['R below the least', scrypt({ scrypt_r: 0 }), /slow scrypt R must be at least 1/],
    ['P below the least', scrypt({ scrypt_p: 31 }), /slow scrypt P must be at least 32/],
    ['a relative wallets_dir', scrypt({}, { wallets_dir: 'wallets' }), /sqlite wallets path must be absolute path/],
    ['an address without a port', '{"address":"nope"}', /listen tcp: address nope: missing port in address/],
    ['an address with a wrong port', '{"address":"127.0.0.1:65536"}', /listen tcp: address 127\.0\.0\.1:65536: /],
    ['an unknown wire', '{"wire":"telegraph"}', /wire must be one of documented, reference/],
  ]
  for (const [title, config, reason] of bad) {
    test(title, async (t) => {
      const dataDir = dataDirectory(t, config)
      // Runs in this process to save time; a test below checks that the command exits with this code.
      assert.equal(await exitCodeOf(dataDir), 3)
      assertNotStarted(dataDir, reason)
      assert.equal(existsSync(join(dataDir, 'kmd_config.json.example')), false, 'an example beside a config')
      assert.equal(readFileSync(join(dataDir, 'kmd_config.json'), 'utf8'), config)
    })
  }

  test('a wallets_dir whose parent is missing', async (t) => {
    const dataDir = dataDirectory(t, false)
    const config = { address: '127.0.0.1:0', drivers: { sqlite: { wallets_dir: join(dataDir, 'a', 'b') } } }
    writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify(config))
    await failsToStart(dataDir, /no such file or directory/)
    assert.equal(existsSync(join(dataDir, 'a')), false)
  })

  test('a process that cannot read its configuration reports it only in the log', async (t) => {
    const dataDir = dataDirectory(t, '{} x')
    assert.deepEqual(await run(t, ['-d', dataDir]), { code: 3, stdout: '', stderr: '' })
    assertNotStarted(dataDir, /kmd_config\.json is not JSON/)
  })

  test('scrypt below the minimum is accepted if allowed, and the minimum always', async (t) => {
    const least = { scrypt: { scrypt_n: 32768, scrypt_r: 1, scrypt_p: 32 } }
    for (const drivers of [fastConfig['drivers'], { sqlite: least }]) {
      const kmd = await startHosted(t, { settings: { drivers } })
      assert.equal(await kmd.stop(), 0)
    }
  })
})

suite('exit 3: token, address and a blank directory', { concurrency: 2 }, () => {
  test('a token that is too short', async (t) => {
    const dataDir = dataDirectory(t)
    writeFileSync(join(dataDir, 'kmd.token'), 'a'.repeat(63))
    await failsToStart(dataDir, /provided APIToken too short\. Must be >= 64 characters/)
    assert.equal(readFileSync(join(dataDir, 'kmd.token'), 'utf8'), 'a'.repeat(63))
  })

  test('a token that is too long', async (t) => {
    const dataDir = dataDirectory(t)
    writeFileSync(join(dataDir, 'kmd.token'), `${'a'.repeat(257)}\n`)
    await failsToStart(dataDir, /provided APIToken too long\. Must be <= 256 characters/)
  })

  test('an address that is in use: no other port is tried', async (t) => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    atEnd(t, () => new Promise((resolve) => taken.close(resolve)))
    const { port } = taken.address() as { port: number }
    await failsToStart(dataDirectory(t, { address: `127.0.0.1:${port}` }), /address already in use/)
  })

  test('an address that this machine does not have', async (t) => {
    await failsToStart(dataDirectory(t, { address: '192.0.2.1:0' }), /couldn't start kmd: /)
  })

  test('a blank data directory', async () => {
    const { code, stdout } = await runHosted(['-d', ''])
    assert.equal(code, 3)
    assert.equal(stdout, '')
  })

  test('the lock is released: the next start works', async (t) => {
    const dataDir = dataDirectory(t, { address: '192.0.2.1:0' })
    assert.equal((await runHosted(['-d', dataDir])).code, 3)
    configure(dataDir, {})
    const kmd = await startHosted(t, { dataDir })
    assert.equal(await kmd.stop(), 0)
  })
})

suite('exit 4: the data directory is in use', { concurrency: 2 }, () => {
  const lockedReason =
    /couldn't start kmd: failed to lock kmd\.lock; is an instance of kmd already running in this data directory\?/

  test('a second instance exits and changes no state of the first', async (t) => {
    const kmd = await start(t)
    await kmd.create('first', 'pw')
    // Stopped, because its own timers move read marks in SQLite's shared memory.
    kmd.signal('SIGSTOP')
    await until('the first to be stopped', () => /^State:\tT/m.test(readFileSync(`/proc/${kmd.pid}/status`, 'utf8')))
    const before = snapshot(kmd.dataDir)
    const second = await run(t, ['-d', kmd.dataDir])
    const after = snapshot(kmd.dataDir)
    kmd.signal('SIGCONT')
    assert.deepEqual(second, { code: 4, stdout: '', stderr: '' })
    assert.deepEqual(after, before)
    assert.match(kmd.log(), lockedReason)
    assert.deepEqual(await kmd.walletNames(), ['first'])
    assert.equal(await kmd.stop(), 0)
    assert.equal(existsSync(kmd.path('kmd.pid')), false)
  })

  test('a lock held by flock(2) of another program is respected', async (t) => {
    const dataDir = dataDirectory(t)
    const lock = join(dataDir, 'kmd.lock')
    const holder = spawn('flock', ['-x', lock, 'sh', '-c', 'echo held; read end'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const ended = new Promise((resolve) => holder.on('close', resolve))
    atEnd(t, () => holder.kill('SIGKILL'))
    await new Promise((resolve) => holder.stdout.once('data', resolve))
    assert.equal((await run(t, ['-d', dataDir])).code, 4)
    assert.equal(existsSync(join(dataDir, 'kmd.net')), false)
    assert.match(readFileSync(join(dataDir, 'kmd.log'), 'utf8'), lockedReason)
    holder.stdin.end('\n')
    await ended
    assert.equal(await (await startHosted(t, { dataDir })).stop(), 0)
  })

  test('flock(1) finds the lock taken while the daemon runs, and free after it exits', async (t) => {
    const kmd = await start(t)
    const tryLock = () => spawnSync('flock', ['-n', kmd.path('kmd.lock'), 'true']).status
    assert.equal(tryLock(), 1)
    await kmd.stop()
    assert.equal(tryLock(), 0)
  })

  test('the lock is released when the process ends', async (t) => {
    const kmd = await start(t)
    await kmd.stop('SIGKILL')
    await until('the lock to be free', () => spawnSync('flock', ['-n', kmd.path('kmd.lock'), 'true']).status === 0)
  })
})

async function exitCodeOf(dataDir: string): Promise<number> {
  try {
    const daemon = await Daemon.start({ dataDir, wire: 'reference' })
    await daemon.stop()
    return 0
  } catch (error) {
    if (error instanceof StartError) return error.exitCode
    throw error
  }
}

async function failsToStart(dataDir: string, reason: RegExp): Promise<void> {
  assert.deepEqual(await runHosted(['-d', dataDir]), { code: 3, stdout: '', stderr: '' })
  assertNotStarted(dataDir, reason)
}

function assertNotStarted(dataDir: string, reason: RegExp): void {
  const log = readFileSync(join(dataDir, 'kmd.log'), 'utf8')
  assert.match(log, /level=error msg="couldn't start kmd: /)
  assert.match(log, reason)
  for (const name of ['kmd.net', 'kmd.pid']) assert.equal(existsSync(join(dataDir, name)), false, name)
}

/** Returns every file except the log, which a second instance writes to, like the reference. */
function snapshot(dataDir: string): unknown {
  return readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'kmd.log')
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const { ino, mtimeMs } = statSync(path)
      return { path, ino, mtimeMs, content: readFileSync(path, 'base64') }
    })
}
