// Bundles the compiled commands into packages/cli/bundle. A short-lived command spends most of its time loading
// modules, and one file loads in a fraction of the time of two hundred. Only our own code is bundled; third-party
// packages remain imports. Does nothing if the inputs are unchanged.
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './packages.mjs'

const packages = join(root, 'packages')
const output = join(packages, 'cli', 'bundle')
const stampFile = join(output, '.built-from')

/**
 * Each entry is bundled separately. The daemon shares no file with the other commands, so it loads from a single file.
 * The worker and the cleanup process are started by path, from the directory of the file that starts them.
 */
const entries = {
  kmd: 'cli/dist/kmd.js',
  latchkey: 'cli/dist/latchkey.js',
  worker: 'kmd/dist/derivation/worker.js',
  cleanup: 'cli/dist/dev/cleanup.js',
}
/** Loaded by path from the directory of the file that reads it. */
const assets = ['kmd/dist/derivation/romix.wasm']

/**
 * Large modules that few commands need: for payments the stores, the buyer and the messages, and for the devnet the
 * programs. The buyer loads the schemas of `@x402/core`, and programs load elliptic curves, which take longer to load
 * than all of our code.
 */
const seldomNeeded =
  /avm\/dist\/|algorand\/dist\/(PostQuantum|internal\/Falcon)\.js$|x402-wire\/dist\/|x402\/dist\/((server|facilitator)\/store\/|db\/|client\/|(sqlite|postgres|redis)\.js$)/

const isOftenNeeded = (id) => !seldomNeeded.test(id)

/** Limits retries, because compilers and other builds may run at the same time. */
const maxBuilds = 3

let written = new Set()
for (let builds = 0; !isBuilt() && builds < maxBuilds; builds++) await buildAll()

/** Whether the bundles match the compiled output. */
function isBuilt() {
  // Modules compiled after this time are newer than the stamp; see isCurrent in packages/cli/bin/run.js.
  const now = new Date()
  if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== hashInputs()) return false
  utimesSync(stampFile, now, now)
  return true
}

async function buildAll() {
  const { rolldown } = await import('rolldown').catch(() => ({ rolldown: undefined }))
  if (rolldown === undefined) {
    // The commands also run without bundles.
    console.error('latchkey: no bundler installed, the commands are not bundled')
    process.exit(0)
  }
  const inputs = hashInputs()
  rmSync(stampFile, { force: true })
  mkdirSync(output, { recursive: true })
  written = new Set()
  for (const [name, path] of Object.entries(entries)) await bundle(rolldown, name, join(packages, path))
  write('package.json', '{ "type": "commonjs" }\n')
  for (const asset of assets) write(asset.slice(asset.lastIndexOf('/') + 1), readFileSync(join(packages, asset)))
  for (const name of readdirSync(output))
    if (isLeftOver(name)) rmSync(join(output, name), { recursive: true, force: true })
  // Without the stamp, the commands run from the compiled modules.
  if (hashInputs() === inputs) write(basename(stampFile), inputs)
}

/** Whether a file is left over from an earlier build. Files that a running build is writing do not count. */
function isLeftOver(name) {
  if (written.has(name) || name === basename(stampFile)) return false
  const [, pid] = /\.([0-9]+)\.part$/.exec(name) ?? []
  return pid === undefined || !isRunning(Number(pid))
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function bundle(rolldown, name, entry) {
  const imports = new Map()
  const build = await rolldown({
    input: { [name]: entry },
    platform: 'node',
    external: isExternal,
    plugins: [{ name: 'source-maps', load }, recordImports(imports)],
    logLevel: 'warn',
  })
  const { output: files } = await build.generate({
    dir: output,
    // Node loads CommonJS in half the time of ES modules: CommonJS needs no promises and loads only the built-in
    // modules in use.
    format: 'cjs',
    // Comments are dropped because they would be parsed at every start. The code is not minified, to keep stack traces
    // readable.
    comments: false,
    sourcemap: true,
    chunkFileNames: '[name]-[hash].js',
    ...(name === 'latchkey' && { codeSplitting: { groups: split(reachable(imports, entry)) } }),
  })
  await build.close()
  for (const file of files) write(file.fileName, file.type === 'chunk' ? inAscii(file.code) : file.source)
}

/**
 * Escapes non-ASCII characters: V8 stores ASCII code in half the memory and parses it faster. Other characters occur
 * only in strings and patterns.
 */
function inAscii(code) {
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * Finding a file takes longer than reading it, so shared code goes into few files: one for `latchkey` itself, one for
 * most commands, and one for some commands.
 */
function split(base) {
  return [
    { name: 'base', test: (id) => base.has(id), priority: 3 },
    { name: 'shared', test: isOftenNeeded, minShareCount: 8, priority: 2 },
    { name: 'common', test: isOftenNeeded, minShareCount: 3, priority: 1 },
  ]
}

/** Returns every module that is loaded with the entry. */
function reachable(imports, entry, found = new Set()) {
  if (found.has(entry)) return found
  found.add(entry)
  for (const id of imports.get(entry) ?? []) reachable(imports, id, found)
  return found
}

function recordImports(imports) {
  return {
    name: 'imports',
    buildEnd() {
      for (const id of this.getModuleIds()) imports.set(id, this.getModuleInfo(id).importedIds)
    },
  }
}

/** Third-party packages are external, and so are the web pages, which locate their files relative to their own path. */
function isExternal(id) {
  return !/^[./#]/.test(id) && (!id.startsWith('@latchkey/') || id.startsWith('@latchkey/pages'))
}

/** Loads compiled code with its source map, because the bundler does not look for the map. */
function load(id) {
  const map = existsSync(`${id}.map`) ? JSON.parse(readFileSync(`${id}.map`, 'utf8')) : undefined
  if (map === undefined) return undefined
  const sourcesContent = map.sources.map((source) => readFileSync(join(dirname(id), source), 'utf8'))
  return { code: readFileSync(id, 'utf8'), map: { ...map, sourcesContent } }
}

/** Renames the file into place, so a process that starts during the build never reads a partial file. */
function write(name, content) {
  const path = join(output, name)
  const part = `${path}.${process.pid}.part`
  writeFileSync(part, content)
  renameSync(part, path)
  written.add(name)
}

/** Returns one hash over all inputs: our compiled packages, the dependency versions, and this file. */
function hashInputs() {
  const hash = createHash('sha256')
  const add = (path) => hash.update(path.slice(root.length)).update('\0').update(readFileSync(path))
  add(fileURLToPath(import.meta.url))
  add(join(root, 'package-lock.json'))
  for (const name of readdirSync(packages).sort()) {
    const compiled = join(packages, name, 'dist')
    if (name === 'pages' || !existsSync(compiled)) continue
    const files = readdirSync(compiled, { recursive: true, encoding: 'utf8' })
    for (const file of files.filter(isInput).sort()) add(join(compiled, file))
  }
  return hash.digest('hex')
}

function isInput(file) {
  return /\.(js|wasm)$/.test(file) && !/\.test\./.test(file)
}
