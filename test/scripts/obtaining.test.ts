/**
 * Tests how the system tests obtain third-party programs, with stand-ins for apt and Python: whatever a machine lacks,
 * the result names the problem and is never an exception.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const scripts = fileURLToPath(new URL('../../../scripts/', import.meta.url))
const timeout = 120_000

/** The behaviour of the stand-in for apt. */
type Apt = {
  /** The known packages, with their dependencies. */
  readonly packages?: { readonly [name: string]: readonly string[] }
  /** The files of each package. */
  readonly files?: { readonly [name: string]: readonly string[] }
  readonly isOffline?: boolean
  /** `apt-get update` has to run before any package is known. */
  readonly needsUpdate?: boolean
}

/** One program for all stand-ins, called with its name and its arguments. */
const standIn = `
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
const [command, ...args] = process.argv.slice(2)
const machine = process.env.MACHINE
const apt = JSON.parse(readFileSync(join(machine, 'apt.json'), 'utf8'))
appendFileSync(join(machine, 'calls.log'), [command, ...args].join(' ') + '\\n')
const fail = (text) => { console.error(text); process.exit(100) }
if (command === 'dpkg-deb') {
  const [, archive, target] = args
  for (const file of apt.files?.[basename(archive, '.deb')] ?? []) {
    mkdirSync(dirname(join(target, file)), { recursive: true })
    writeFileSync(join(target, file), '')
  }
} else if (args.includes('update')) {
  if (apt.isOffline) fail('E: Temporary failure resolving the mirror')
  writeFileSync(join(machine, 'updated'), '')
} else {
  const known = apt.needsUpdate && !existsSync(join(machine, 'updated')) ? {} : apt.packages ?? {}
  const names = args.filter((arg) => !arg.startsWith('-')).slice(1)
  const unknown = names.find((name) => known[name] === undefined)
  if (unknown !== undefined) fail('E: Unable to locate package ' + unknown)
  if (args.includes('-s')) for (const name of names.flatMap((one) => [...known[one], one])) console.log('Inst ' + name + ' (1.0 stand-in)')
  else if (apt.isOffline) fail('E: Failed to fetch the archive: could not resolve the mirror')
  else for (const name of names) writeFileSync(name + '.deb', '')
}
`

class Machine {
  readonly #directory = mkdtempSync(join(tmpdir(), 'latchkey-machine-'))
  readonly cache = join(this.#directory, 'cache')

  constructor(t: TestContext, commands: readonly string[], apt: Apt = {}) {
    t.after(() => rmSync(this.#directory, { recursive: true, force: true }))
    this.setApt(apt)
    mkdirSync(join(this.#directory, 'bin'))
    writeFileSync(join(this.#directory, 'stand-in.mjs'), standIn)
    for (const command of commands) {
      this.install(command, `exec "$NODE" "$MACHINE/stand-in.mjs" ${command} "$@"`)
    }
  }

  setApt(apt: Apt): void {
    writeFileSync(join(this.#directory, 'apt.json'), JSON.stringify(apt))
  }

  install(command: string, script: string): void {
    const path = join(this.#directory, 'bin', command)
    writeFileSync(path, `#!/bin/sh\n${script}\n`)
    chmodSync(path, 0o755)
  }

  /** Returns the value of an expression on that machine, after these imports, as a user. */
  async evaluate(imports: string, expression: string, uid = 0): Promise<unknown> {
    const program = `process.getuid = () => ${uid}\n${imports}\nconsole.log(JSON.stringify(${expression}))`
    const environment = {
      PATH: join(this.#directory, 'bin'),
      MACHINE: this.#directory,
      NODE: process.execPath,
      LATCHKEY_CACHE: this.cache,
    }
    const args = ['--input-type=module', '-e', program]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: scripts, env: environment, timeout })
    return JSON.parse(stdout)
  }

  obtain(wanted: object, uid?: number): Promise<unknown> {
    const imports = "import { obtainPrograms } from './obtain/debian.mjs'"
    return this.evaluate(imports, `obtainPrograms(${JSON.stringify(wanted)})`, uid)
  }

  get calls(): string {
    const path = join(this.#directory, 'calls.log')
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }

  get cached(): readonly string[] {
    return existsSync(this.cache) ? readdirSync(this.cache) : []
  }
}

const apt = ['apt-get', 'dpkg-deb']
const meter = { name: 'Meter', packages: ['meter'], programs: ['meterd'], variable: 'METER_BIN' }
const meterPackage: Apt = { packages: { meter: [] }, files: { meter: ['usr/bin/meterd'] } }

test('a package without its own libraries is used unchanged', { timeout }, async (t) => {
  const machine = new Machine(t, apt, meterPackage)
  const imports = "import { librariesOf, obtainPrograms } from './obtain/debian.mjs'"
  const wanted = JSON.stringify(meter)
  const found = await machine.evaluate(imports, `librariesOf(${wanted}, obtainPrograms(${wanted}).directory)`)
  assert.deepEqual(found, [])
})

test('libraries of any processor are found', { timeout }, async (t) => {
  for (const triplet of ['x86_64-linux-gnu', 'aarch64-linux-gnu', 'arm-linux-gnueabihf']) {
    const files = { meter: ['usr/bin/meterd'], libmeter: [`usr/lib/${triplet}/libmeter.so.1`] }
    const machine = new Machine(t, apt, { packages: { meter: ['libmeter'], libmeter: [] }, files })
    const imports = "import { librariesOf, obtainPrograms } from './obtain/debian.mjs'"
    const wanted = JSON.stringify(meter)
    const found = await machine.evaluate(imports, `librariesOf(${wanted}, obtainPrograms(${wanted}).directory)`)
    assert.deepEqual(found, [join(machine.cache, 'latchkey-meter', 'usr', 'lib', triplet)])
  }
})

test('names a package that the release does not have', { timeout }, async (t) => {
  const machine = new Machine(t, apt, { packages: {} })
  assert.deepEqual(await machine.obtain(meter), {
    problem: 'apt-get could not download meter: E: Unable to locate package meter',
  })
})

test('names a package without the program', { timeout }, async (t) => {
  const machine = new Machine(t, apt, { packages: { meter: [] }, files: { meter: ['usr/share/doc/meter/README'] } })
  assert.deepEqual(await machine.obtain(meter), {
    problem: 'the packages meter of this release do not contain it',
  })
})

test('without a network, the problem is named, nothing is left behind, and the next try succeeds', {
  timeout,
}, async (t) => {
  const machine = new Machine(t, apt, { ...meterPackage, isOffline: true })
  assert.match(JSON.stringify(await machine.obtain(meter)), /"problem":"apt-get could not download meter: E: Failed/)
  assert.deepEqual(machine.cached, [])
  machine.setApt(meterPackage)
  assert.deepEqual(await machine.obtain(meter), { directory: join(machine.cache, 'latchkey-meter', 'usr', 'bin') })
})

test('root updates the package lists; another user is told what is missing', { timeout }, async (t) => {
  const machine = new Machine(t, apt, { ...meterPackage, needsUpdate: true })
  assert.match(JSON.stringify(await machine.obtain(meter, 1000)), /Unable to locate package meter/)
  assert.doesNotMatch(machine.calls, /update/)
  assert.deepEqual(await machine.obtain(meter, 0), { directory: join(machine.cache, 'latchkey-meter', 'usr', 'bin') })
})

test('reports a machine without apt', { timeout }, async (t) => {
  const machine = new Machine(t, [])
  assert.deepEqual(await machine.obtain(meter), { problem: 'this machine has no apt to download it with' })
})

test('the database server of every release is found', { timeout }, async (t) => {
  for (const version of ['14', '15', '16', '17']) {
    const server = `postgresql-${version}`
    const files = { [server]: ['initdb-x', 'postgres-x'].map((name) => `usr/lib/postgresql/${version}/bin/${name}`) }
    const machine = new Machine(t, apt, { packages: { postgresql: [server], [server]: [] }, files })
    const imports =
      "import { obtainPrograms } from './obtain/debian.mjs'\nimport { postgres } from './obtain/programs.mjs'"
    // Uses other names, because this machine may have the real ones.
    const wanted = "{ ...postgres, name: 'database', variable: 'NO_BIN', programs: ['initdb-x', 'postgres-x'] }"
    assert.deepEqual(await machine.evaluate(imports, `obtainPrograms(${wanted})`), {
      directory: join(machine.cache, 'latchkey-database', 'usr', 'lib', 'postgresql', version, 'bin'),
    })
  }
})

test('concurrent processes that need the same program download it once', { timeout }, async (t) => {
  const machine = new Machine(t, apt, meterPackage)
  const found = await Promise.all(Array.from({ length: 5 }, () => machine.obtain(meter)))
  for (const one of found) assert.deepEqual(one, { directory: join(machine.cache, 'latchkey-meter', 'usr', 'bin') })
  assert.equal(machine.calls.match(/ download /g)?.length, 1)
})

test('an interrupted build starts over', { timeout }, async (t) => {
  const machine = new Machine(t, apt, meterPackage)
  mkdirSync(join(machine.cache, 'latchkey-meter.partial', 'usr', 'bin'), { recursive: true })
  mkdirSync(join(machine.cache, 'latchkey-meter', 'usr'), { recursive: true })
  const ended = await promisify(execFile)(process.execPath, ['-e', 'console.log(process.pid)'])
  writeFileSync(join(machine.cache, 'latchkey-meter.lock'), ended.stdout.trim())
  assert.deepEqual(await machine.obtain(meter), { directory: join(machine.cache, 'latchkey-meter', 'usr', 'bin') })
  assert.deepEqual(machine.cached, ['latchkey-meter'])
})

test('an unexpected error of one program does not affect the others', { timeout }, async (t) => {
  const machine = new Machine(t, apt, meterPackage)
  // The cache cannot be created below a file.
  writeFileSync(machine.cache, '')
  const imports = "import { obtainFor } from './obtain/programs.mjs'"
  const missing = await machine.evaluate(
    imports,
    "[...obtainFor(['test/dist/prometheus/a.test.js', 'test/dist/browser/b.test.js']).missing].map(([{ name }, problem]) => [name, problem])",
    1000,
  )
  const problems = Object.fromEntries(missing as [string, string][])
  // If the machine has the programs, they are found, and there is no problem to report.
  if (problems['Prometheus'] !== undefined) assert.match(problems['Prometheus'], /ENOTDIR|EEXIST/)
  assert.equal(problems['Chromium'], 'only root may install it')
})

const python = "import { obtainPython } from './obtain/python.mjs'"
const withPython = (script: string) => (machine: Machine) => machine.install('python3', script)

for (const [what, prepare, problem] of [
  ['no Python', () => undefined, /^python3 \(3\.10 or newer\) is not installed: spawnSync python3 ENOENT$/],
  ['an old Python', withPython('exit 1'), /^python3 \(3\.10 or newer\) is not installed: /],
  [
    'a Python without venv',
    withPython('[ "$1" = -c ] && exit 0\necho "No module named venv" >&2\nexit 1'),
    /^a virtual environment could not be created: No module named venv$/,
  ],
] as const) {
  test(`reports a machine with ${what}`, { timeout }, async (t) => {
    const machine = new Machine(t, [])
    prepare(machine)
    const found = (await machine.evaluate(python, "obtainPython('requirements-avm.txt')")) as { problem: string }
    assert.match(found.problem, problem)
  })
}
