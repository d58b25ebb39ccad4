// Assigns tests to tiers and groups their files into processes.
import { availableParallelism } from 'node:os'
import { join, sep } from 'node:path'
import { root } from '../packages.mjs'
import { deal, writeBatch } from './batches.mjs'

/** Tests that need programs other than Node: a server, Chromium, Python packages, network namespaces. */
const foreign =
  /\/(browser|postgres|redis|faults|operating|prometheus)\/|agents\/crash\/|publish\/|interop-python|interop\/agents|docs\/(blocks|selling|site|compose|container|kubernetes|workflow)|security\/console-link/

/** The longest tests that need only Node: each covers a whole matrix of cases. */
const long =
  /process\/(terminal-escapes|commands|wallet-commands|facilitator-key|dev-stack|dev|logs|agent|pay-agent|send-repeats)\.|security\/(own-sellers|false-report|handle-limit|held-answer|hostile-tokens|guesses|timeout|password-change)|adapters-(matrix|paths)|broken-streams|mcp\/wallet-approvals|devnet\/scenario|scripts\/machines|x402\/(soak|weather)/

/** Quick page tests, one file per page. `npm test` also runs them if a browser is installed. */
const pages = /browser\/(console-searches|paywall-passes|sales)\./

/** Tests with random cases and killed processes: a few in `npm test`, many in `npm run test:system`. */
const repeated = /(\.fuzz|[./-]crash)\.test\.js$/

/** The packages' own tests that take longer than a few seconds. */
const slow = /\.(fuzz|crash)\.test\.js$/

const posix = (path) => path.split(sep).join('/')
const isOwn = (path) => posix(path).startsWith('packages/')
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
    has: (path) => !isSystemOnly(path) || needsBrowser(path),
    environment: { LATCHKEY_FUZZ: '200', LATCHKEY_CRASH_ROUNDS: '3' },
  },
  system: {
    has: (path) => isSystemOnly(path) || repeated.test(posix(path)),
    environment: { LATCHKEY_FUZZ: '8000' },
  },
}

/** Most tests spend more than half of their time waiting for a process, a timer or a disk. */
export const usualConcurrency = availableParallelism() + 2

/** Returns a module that runs one file. */
export const single = (file) => ({ name: posix(file), path: join(root, file), files: [file] })

/** Files that get their own process and start first, because most of them wait. The longest come first. */
const alone = [
  /faults\/(faults|plants)|scripts\/machines|publish\/(outside|journeys)|docs\/site|docs\/blocks|terminal-escapes|own-sellers/,
  /process\/(commands|agent|dev-stack|dev|wallet-commands)\.|held-answer|guesses|blank-passwords|facilitator-key|publish\/|handle-limit|hostile-tokens|false-report|adapters-(paths|matrix)|scenario|wallet-approvals|faults\/|browser\/|soak/,
]

/** Folders whose tests can share processes, with the number of processes. The longest come first. */
const groups = [
  { name: 'process', has: (path) => /^test\/dist\/process\//.test(path), count: 8 },
  { name: 'daemon', has: (path) => /^test\/dist\/(kmd|parity|interop|audit|agents)\//.test(path), count: 3 },
  { name: 'packages', has: (path) => /^packages\//.test(path) && !slow.test(path), count: 8 },
  { name: 'x402', has: (path) => /^test\/dist\/x402\//.test(path), count: 6 },
  { name: 'ledger', has: (path) => /^test\/dist\/(devnet|stores|mcp)\//.test(path), count: 3 },
  { name: 'postgres', has: (path) => /^test\/dist\/postgres\//.test(path), count: 3 },
  { name: 'repository', has: (path) => /^test\/dist\/(structure|docs|scripts)\//.test(path), count: 1 },
]

/**
 * Returns the modules that run these files of a tier. The longest come first, so none is left running at the end. Each
 * tier has its own batches, so two tiers can run at once.
 */
export function modulesOf(files, tierName) {
  const singles = []
  const shared = new Map(groups.map((group) => [group, []]))
  for (const file of files) {
    const path = posix(file)
    const group = alone.some((pattern) => pattern.test(path)) ? undefined : groups.find(({ has }) => has(path))
    if (group === undefined) singles.push(file)
    else shared.get(group).push(file)
  }
  const batches = [...shared].flatMap(([{ name, count }, members]) =>
    deal(members, count).map((batch, index) => ({
      name: `${name}-${index + 1}`,
      path: writeBatch(`${tierName}-${name}-${index + 1}`, batch),
      files: batch,
    })),
  )
  const first = alone.flatMap((pattern) =>
    singles.filter((file) => alone.find((one) => one.test(posix(file))) === pattern),
  )
  return [...first.map(single), ...batches, ...singles.filter((file) => !first.includes(file)).map(single)]
}
