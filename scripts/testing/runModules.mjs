// Runs test modules, each in a separate process, and collects the output of their reporters.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as setTimeoutPromise } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { root } from '../packages.mjs'
import { signalGroup } from '../run.mjs'

const reporter = new URL('reporter.mjs', import.meta.url).href
const preloaded = fileURLToPath(new URL('trackTests.cjs', import.meta.url))
const maxOutput = 64 * 1024
/** The longest file takes minutes on a loaded machine; a process that hangs must not block the run forever. */
const moduleLimitMs = 30 * 60_000

/**
 * @param modules `{ name, path, files }`: the module at `path` runs these test files
 * @param concurrency the most processes at once
 * @param least how many processes run at once even if all cores are busy
 * @param load the cores that may be busy when a further process is started
 * @param busyCores returns how many cores were busy since the last call
 * @param until the time from which no further process starts
 * @param onEnd called with each result when its process has exited
 * @returns the results, in the order in which the processes exited
 */
export async function runModules(
  modules,
  {
    concurrency,
    least = concurrency,
    load = 1,
    busyCores = coreMeter(),
    until = Number.POSITIVE_INFINITY,
    environment,
    onEnd,
  },
) {
  const running = new Set()
  const stop = (signal) => {
    for (const child of running) signalGroup(child.pid, 'SIGKILL')
    process.exit(signal === 'SIGINT' ? 130 : 143)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
  mkdirSync(tmpdir(), { recursive: true })
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-reports-'))
  const queue = [...modules]
  const started = new Map()
  const results = []
  const work = async (module) => {
    const result = await runModule(module, { directory, environment, running })
    results.push(result)
    started.delete(module)
    onEnd(result)
  }
  try {
    for (;;) {
      if (Date.now() >= until) queue.length = 0
      const start = () => {
        const module = queue.shift()
        started.set(module, work(module))
      }
      while (queue.length > 0 && started.size < Math.min(least, concurrency)) start()
      // One at a time, because its load is not known before it runs.
      if (queue.length > 0 && started.size < concurrency && busyCores() < load) start()
      if (started.size === 0) break
      const isFull = queue.length === 0 || started.size >= concurrency
      await Promise.race([...started.values(), ...(isFull ? [] : [setTimeoutPromise(measureMs)])])
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, stop)
  }
  return results
}

/** Long enough for a process to show its load. */
const measureMs = 1_500

/** Returns a function that returns how many cores of the machine were busy on average since its last call. */
function coreMeter() {
  const read = () => {
    const times = cpus().map((core) => core.times)
    const total = times.reduce((sum, one) => sum + one.user + one.nice + one.sys + one.idle + one.irq, 0)
    return { idle: times.reduce((sum, one) => sum + one.idle, 0), total, count: times.length }
  }
  let last = read()
  return () => {
    const now = read()
    const [idle, total] = [now.idle - last.idle, now.total - last.total]
    // The counters advance in steps: a short time tells nothing.
    if (total < now.count * 200) return now.count
    last = now
    return now.count * (1 - idle / total)
  }
}

async function runModule(module, { directory, environment, running }) {
  const reportFile = join(directory, `${module.name.replaceAll(/[^\w.-]/g, '_')}.jsonl`)
  const args = ['--require', preloaded, `--test-reporter=${reporter}`, `--test-reporter-destination=${reportFile}`]
  // Runs in a separate session, so no command under test can prompt on the terminal of the person running the tests.
  const child = spawn(process.execPath, [...args, module.path], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...inherited(module), ...environment, LATCHKEY_TEST_REPORT: reportFile },
  })
  running.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-maxOutput)
    })
  }
  const closed = once(child, 'close').catch(() => {})
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    signalGroup(child.pid, 'SIGKILL')
  }, moduleLimitMs)
  const exit = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(signal ?? code))
  })
  // Waits briefly for the last output; a process that a test left behind may hold the pipes open.
  if (exit !== 0) await Promise.race([closed, setTimeoutPromise(1000)])
  clearTimeout(timer)
  running.delete(child)
  const records = readRecords(reportFile)
  const isEnded = records.some(({ type }) => type === 'end')
  const isFailed = records.some(({ isPassed }) => isPassed === false)
  const problem = isLate
    ? `it did not end within ${moduleLimitMs / 60_000} minutes`
    : exit !== 0 && !(exit === 1 && isFailed)
      ? `its process exited with ${exit}`
      : isEnded
        ? undefined
        : 'its process exited before its tests ended'
  return { module, records, problem, output }
}

/** Tests that run npm, which may reach its registry through a proxy with its own certificate. */
const downloads = /\/publish\/|scripts\/machines|docs\/site/

/**
 * Returns the environment of the person running the tests. Node reads all of `NODE_EXTRA_CA_CERTS` at every start,
 * which takes longer than the rest of the start. Tests that only use the loopback interface need no certificates.
 */
function inherited({ files }) {
  const { NODE_EXTRA_CA_CERTS: _, ...others } = process.env
  return files.some((file) => downloads.test(file)) ? process.env : others
}

function readRecords(path) {
  try {
    return readFileSync(path, 'utf8').split('\n').flatMap(parse)
  } catch {
    return []
  }
}

/** The last line of a killed process may be incomplete. */
function parse(line) {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}
