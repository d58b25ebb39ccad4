// `npm run figures`: measures the size of the code. Prints one line of JSON: how many source files a request runs
// through, how large the sources are, and how large the scripts of the web pages are. `--files` also lists, on stderr, the
// source files of each request with their lines.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { sourcesOfRequests } from './figures/requests.mjs'
import { root } from './packages.mjs'

const smallFileLines = 30

const { values } = parseArgs({ options: { files: { type: 'boolean', default: false } } })
const requests = await sourcesOfRequests()
if (values.files) {
  for (const [name, files] of Object.entries(requests)) {
    console.error(`\n${name}: ${files.length} files`)
    for (const file of files) console.error(`${String(linesOf(file)).padStart(6)}  ${file}`)
  }
}
const filesOfRequests = Object.fromEntries(Object.entries(requests).map(([name, files]) => [name, files.length]))
console.log(JSON.stringify({ files_of_requests: filesOfRequests, sources: sources(), scripts: scripts() }))
// Servers and timers of the parties may keep the process running.
process.exit()

/** The source files of the packages without tests. */
function sources() {
  const packages = readdirSync(join(root, 'packages')).map((name) => [
    name,
    summary(sourceFiles(join('packages', name))),
  ])
  const all = packages.map(([, one]) => one)
  const total = (member) => all.reduce((sum, one) => sum + one[member], 0)
  const totals = { lines: total('lines'), files: total('files'), small_files: total('small_files') }
  return { ...totals, packages: Object.fromEntries(packages) }
}

function summary(files) {
  const lines = files.map(linesOf)
  return {
    lines: lines.reduce((sum, one) => sum + one, 0),
    files: files.length,
    small_files: lines.filter((one) => one < smallFileLines).length,
  }
}

/** The pages have source folders besides `src`. */
function sourceFiles(directory) {
  return readdirSync(join(root, directory), { recursive: true })
    .filter((name) => /^(?!dist|node_modules|bundle).*\.tsx?$/.test(name) && !/\.test\.|\.d\.ts$/.test(name))
    .map((name) => join(directory, name))
}

function linesOf(file) {
  return readFileSync(join(root, file), 'utf8').split('\n').length - 1
}

/** The bytes of the scripts that browsers load: the start and everything else, which is loaded on demand. */
function scripts() {
  const dist = join(root, 'packages', 'pages', 'dist')
  return {
    paywall: bytesOf(join(dist, 'paywall', 'assets'), /^paywall-/),
    console: bytesOf(join(dist, 'console', 'assets'), /^index-/),
  }
}

function bytesOf(directory, start) {
  const files = readdirSync(directory)
    .filter((name) => name.endsWith('.js'))
    .map((name) => ({ name, bytes: readFileSync(join(directory, name)) }))
  const size = (list) => ({
    files: list.length,
    bytes: list.reduce((sum, { bytes }) => sum + bytes.length, 0),
    gzip_bytes: list.reduce((sum, { bytes }) => sum + gzipSync(bytes).length, 0),
  })
  return {
    start: size(files.filter(({ name }) => start.test(basename(name)))),
    on_demand: size(files.filter(({ name }) => !start.test(basename(name)))),
  }
}
