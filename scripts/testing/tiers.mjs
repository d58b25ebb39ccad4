// Assigns tests to tiers and groups their files into processes.
import { availableParallelism } from 'node:os'
import { join, sep } from 'node:path'
import { root } from '../packages.mjs'
import { cut, writeBatch } from './batches.mjs'
import { expectedTimes } from './times.mjs'

/**
 * Tests that need more than Node: a server, Chromium, Python packages, a compiler, tmux, namespaces, or a second user.
 */
const foreign =
  /\/(browser|postgres|redis|faults|judges|next|operating|prometheus)\/|agents\/crash\/|publish\/|interop-python|interop\/agents|docs\/(blocks|selling|site|compose|container|kubernetes|workflow)|security\/console-link|test\/dist\/gateway\/(bodies|python|smuggling-nginx)|security\/(foreign-listener|full-disk|power-cut)\.|process\/dev-screen|scripts\/obtaining/

/** The longest tests that need only Node: each covers a whole matrix of cases. */
const long =
  /process\/(terminal-escapes|commands|concurrency|sign|wallet-commands|facilitator-key|dev-stack|dev|logs|agent|pay-agent|send-repeats)\.|security\/(own-sellers|false-report|handle-limit|held-answer|hostile-tokens|guesses|timeout|password-change)|adapters-(matrix|paths)|broken-streams|mcp\/wallet-(approvals|safety)|interop\/swagger|docs\/generated|devnet\/scenario|scripts\/machines|x402\/(soak|weather)/

/** Quick page tests, one file per page. `npm test` also runs them if a browser is installed. */
const pages = /browser\/(console-searches|paywall-passes)\./

/** Tests with random cases and killed processes: a few in `npm test`, many in `npm run test:system`. */
const repeated = /(\.fuzz|[./-]crash)\.test\.js$/

/** Tests among them that `npm test` runs in full: a larger number would not add cases, or would take minutes. */
const complete =
  /mcp\/dist\/seller\.crash|facilitator\/crash|store\/StateFile\.(applications\.)?crash|kmd\/dist\/(RequestHandler|agents\/Agents)\.fuzz/

/** The packages' own tests that take longer than a few seconds. */
const slow = /\.(fuzz|crash)\.test\.js$/

/** Tests that compare with a node that an environment variable names. */
const onRequest = /devnet\/reference\//

const posix = (path) => path.split(sep).join('/')
const isOwn = (path) => posix(path).startsWith('packages/')
const isOnRequest = (path) => onRequest.test(posix(path)) && process.env.LATCHKEY_REFERENCE_ALGOD === undefined
const isRepeated = (path) => repeated.test(path) && !complete.test(path)
const isSystemOnly = (path) => foreign.test(posix(path)) || long.test(posix(path))

/** Whether `npm test` skips this file on a machine without a browser. */
export const needsBrowser = (path) => pages.test(posix(path))

/** Each tier selects its files and sets, through the environment, how many random cases and kills they try. */
export const tiers = {
  unit: {
    has: (path) => isOwn(path) && !slow.test(path),
    environment: { LATCHKEY_FUZZ: '200' },
  },
  node: {
    has: (path) => !isOnRequest(path) && (!isSystemOnly(path) || needsBrowser(path)),
    environment: { LATCHKEY_FUZZ: '200', LATCHKEY_CRASH_ROUNDS: '3' },
  },
  system: {
    has: (path) => !isOnRequest(path) && (isSystemOnly(path) || isRepeated(posix(path))),
    environment: { LATCHKEY_FUZZ: '1000' },
  },
}

/**
 * How many processes run at once. Most tests spend more than half of their time waiting for a process, a timer or a
 * disk, so further ones start while cores are idle.
 */
export const usualAmount = {
  least: availableParallelism(),
  concurrency: availableParallelism() + 6,
  load: availableParallelism() * 0.85,
}

/** Returns a module that runs one file. */
export const single = (file) => ({ name: posix(file), path: join(root, file), files: [file] })

/** Folders whose tests can share processes, with the expected time of one process if it is not the usual one. */
const groups = [
  // A full garbage collection takes long in a process that has run many tests.
  { name: 'collections', has: (path) => /\/(sendPayment|TimeLimit)\.test\.js$/.test(path) },
  { name: 'process', has: (path) => /^test\/dist\/process\//.test(path) },
  { name: 'daemon', has: (path) => /^test\/dist\/(kmd|parity|interop|audit|agents)\//.test(path) },
  { name: 'packages', has: (path) => /^packages\//.test(path) },
  { name: 'x402', has: (path) => /^test\/dist\/(x402|gateway)\//.test(path) },
  { name: 'ledger', has: (path) => /^test\/dist\/(devnet|stores|mcp)\//.test(path) },
  { name: 'browser', has: (path) => /^test\/dist\/browser\//.test(path), batchMs: 150_000 },
  { name: 'servers', has: (path) => /^test\/dist\/(redis|operating|prometheus)\//.test(path) },
  { name: 'postgres', has: (path) => /^test\/dist\/postgres\//.test(path) },
  // Packing takes longer than starting a process. The machines run a stack on the ports that the pages name, which only
  // root can keep apart.
  {
    name: 'publish',
    has: (path) => /^test\/dist\/(publish\/|scripts\/machines)/.test(path),
    batchMs: Number.POSITIVE_INFINITY,
  },
  { name: 'repository', has: (path) => /^test\/dist\/(structure|docs|scripts)\//.test(path) },
]

/** Files that need their own process, because they test the replacement of a global. */
const separate = /x402\/security\/replaced-response\./

/** The expected time of a process: long compared with its start, short compared with the whole run. */
const usualBatchMs = 90_000

/** Whether a file gets its own process: among others, it would make theirs much longer than usual. */
const isLong = (wallMs, { batchMs = usualBatchMs }) => wallMs > batchMs * 0.3

/**
 * Returns the modules that run these files of a tier, each with its expected times. The longest come first, so none is
 * left running at the end. Each tier has its own batches, so two tiers can run at once.
 */
export function modulesOf(files, tierName) {
  const timesOf = expectedTimes(tierName)
  const wallOf = (file) => timesOf(file).wallMs
  const singles = []
  const shared = new Map(groups.map((group) => [group, []]))
  for (const file of files) {
    const group = groups.find(({ has }) => has(posix(file)))
    if (group === undefined || isLong(wallOf(file), group) || separate.test(posix(file))) singles.push(single(file))
    else shared.get(group).push(file)
  }
  const batches = [...shared].flatMap(([{ name, batchMs = usualBatchMs }, members]) =>
    cut(members, Math.max(1, Math.ceil(sum(members, wallOf) / batchMs)), wallOf).map((batch, index) => ({
      name: `${name}-${index + 1}`,
      path: writeBatch(`${tierName}-${name}-${index + 1}`, batch),
      files: batch,
    })),
  )
  return [...singles, ...batches]
    .map((module) => ({
      ...module,
      expectedWallMs: sum(module.files, wallOf),
    }))
    .toSorted((a, b) => b.expectedWallMs - a.expectedWallMs)
}

const sum = (values, numberOf) => values.reduce((total, value) => total + numberOf(value), 0)
