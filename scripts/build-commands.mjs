// Bundles the compiled commands into packages/cli/bundle: reading one file takes a fraction of the time that reading two
// hundred modules takes, and a short-lived command spends most of its time there. Only our own code goes in; packages of
// others stay imports. Quick when nothing changed.
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
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const packages = join(root, 'packages')
const output = join(packages, 'cli', 'bundle')
const stampFile = join(output, '.built-from')

/**
 * Each is bundled by itself. The daemon shares no file with the other commands, so that it is read in one piece. Worker
 * and cleanup process are started by their paths, beside the file that starts them.
 */
const entries = {
  kmd: 'cli/dist/kmd.js',
  latchkey: 'cli/dist/latchkey.js',
  worker: 'kmd/dist/derivation/worker.js',
  cleanup: 'cli/dist/dev/cleanup.js',
}
/** Read by its path, beside the file that reads it. */
const assets = ['kmd/dist/derivation/romix.wasm']

const inputs = hashInputs()
if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === inputs) {
  // The compiler may have written the same again: see isCurrent in packages/cli/bin/run.js.
  utimesSync(stampFile, new Date(), new Date())
  process.exit(0)
}
const { rolldown } = await import('rolldown').catch(() => ({ rolldown: undefined }))
if (rolldown === undefined) {
  // The commands run without bundles, too.
  console.error('latchkey: no bundler installed, the commands are not bundled')
  process.exit(0)
}

rmSync(stampFile, { force: true })
mkdirSync(output, { recursive: true })
const written = new Set()
for (const [name, path] of Object.entries(entries)) await bundle(name, join(packages, path))
write('package.json', '{ "type": "commonjs" }\n')
for (const asset of assets) write(asset.slice(asset.lastIndexOf('/') + 1), readFileSync(join(packages, asset)))
for (const name of readdirSync(output)) if (!written.has(name)) rmSync(join(output, name), { recursive: true })
writeFileSync(stampFile, inputs)

async function bundle(name, entry) {
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
    // Node loads CommonJS in half the time of ES modules: without promises, and only what is used of its own modules.
    format: 'cjs',
    // Without comments, as these are read at every start; not minified, so that a stack trace can be read.
    comments: false,
    sourcemap: true,
    chunkFileNames: '[name]-[hash].js',
    ...(name === 'latchkey' && { codeSplitting: { groups: split(reachable(imports, entry)) } }),
  })
  await build.close()
  for (const file of files) write(file.fileName, file.type === 'chunk' ? inAscii(file.code) : file.source)
}

/** V8 keeps such code in half the memory, and reads it faster. Other characters stand in texts and patterns only. */
function inAscii(code) {
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * A file takes longer to find than to read, so what several commands share is in few of them: what `latchkey` itself
 * needs, what most commands need, and what some need.
 */
function split(base) {
  return [
    { name: 'base', test: (id) => base.has(id), priority: 3 },
    { name: 'shared', minShareCount: 8, priority: 2 },
    { name: 'common', minShareCount: 3, priority: 1 },
  ]
}

/** Every module that is loaded with the entry. */
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

/** Packages of others, and the web pages, which find their files by their own place. */
function isExternal(id) {
  return !/^[./#]/.test(id) && (!id.startsWith('@latchkey/') || id.startsWith('@latchkey/pages'))
}

/** Compiled code with the way back to its source, which a bundler does not look for. */
function load(id) {
  const map = existsSync(`${id}.map`) ? JSON.parse(readFileSync(`${id}.map`, 'utf8')) : undefined
  if (map === undefined) return undefined
  const sourcesContent = map.sources.map((source) => readFileSync(join(dirname(id), source), 'utf8'))
  return { code: readFileSync(id, 'utf8'), map: { ...map, sourcesContent } }
}

/** Renamed into place, so that a process starting meanwhile never reads half a file. */
function write(name, content) {
  const path = join(output, name)
  writeFileSync(`${path}.part`, content)
  renameSync(`${path}.part`, path)
  written.add(name)
}

/** One hash over all inputs: our compiled packages, the versions of dependencies, and this file. */
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
