// Lists the third-party programs that the tests run, and builds the environment that tells a test where to find them.
import { spawnSync } from 'node:child_process'
import { obtainChromium } from './chromium.mjs'
import { librariesOf, obtainPrograms } from './debian.mjs'

export const prometheus = {
  name: 'Prometheus',
  packages: ['prometheus'],
  programs: ['prometheus', 'promtool'],
  variable: 'PROMETHEUS_BIN',
}
/** The package name without a version installs the server version of the Debian release. */
export const postgres = {
  name: 'PostgreSQL',
  packages: ['postgresql'],
  programs: ['initdb', 'postgres'],
  variable: 'POSTGRES_BIN',
  directories: ['18', '17', '16', '15', '14'].map((version) => `/usr/lib/postgresql/${version}/bin`),
}
export const redis = {
  name: 'Redis',
  packages: ['redis-server'],
  programs: ['redis-server'],
  variable: 'REDIS_BIN',
}
export const nginx = { name: 'nginx', packages: ['nginx'], programs: ['nginx'], variable: 'NGINX_BIN' }
export const nftables = { name: 'nftables', packages: ['nftables'], programs: ['nft'], variable: 'NFT_BIN' }
export const iproute = { name: 'iproute2', packages: ['iproute2'], programs: ['ip', 'tc'], variable: 'IP_BIN' }
export const faketime = {
  name: 'libfaketime',
  packages: ['libfaketime'],
  programs: ['libfaketime.so.1'],
  variable: 'FAKETIME_LIB',
  directories: ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/faketime`),
}
export const chromium = {
  name: 'Chromium',
  variable: 'CHROMIUM',
  advice: 'Install Chromium (Debian: apt-get install chromium), or set CHROMIUM to its path.',
  obtain: () => {
    const { path, problem } = obtainChromium()
    return { directory: path, problem }
  },
}
/** A privilege rather than a program: root has it on most machines, and no package provides it. */
export const namespaces = {
  name: 'network namespaces',
  advice: 'Run the tests as root, on a machine that allows `unshare --net --mount --pid`.',
  obtain: () => {
    const options = ['--net', '--mount', '--pid', '--fork', 'true']
    const { status } = spawnSync('unshare', options, { stdio: 'ignore', timeout: 30_000 })
    return status === 0 ? {} : { problem: 'this user may not create them' }
  },
}

/** The programs needed by the tests whose path matches. */
const needs = [
  [/\/browser\/|docs\/(selling|site)|security\/console-link/, [chromium]],
  [/\/prometheus\//, [prometheus]],
  [/\/postgres\//, [postgres]],
  [/\/redis\//, [redis]],
  [/\/faults\//, [postgres, redis, iproute, nftables, faketime, namespaces]],
  [/\/crash\//, [faketime]],
  [/\/operating\//, [postgres, nginx, prometheus]],
  [/\/smuggling-nginx\./, [nginx]],
]

/** Returns the programs that a test file needs. */
export function neededBy(path) {
  const name = path.replaceAll('\\', '/')
  return needs.flatMap(([pattern, programs]) => (pattern.test(name) ? programs : []))
}

/**
 * Obtains the programs that these test files need, each independently. If one is not available, only its own tests are
 * left out.
 * @returns the environment for the tests, and `missing`: the reason why each missing program is not available
 */
export function obtainFor(paths) {
  const environment = {}
  const missing = new Map()
  const libraries = [process.env.LD_LIBRARY_PATH ?? '']
  for (const program of new Set(paths.flatMap(neededBy))) {
    const { directory, problem } = obtain(program)
    if (problem !== undefined) missing.set(program, problem)
    else if (program.variable !== undefined) environment[program.variable] = directory
    if (program.packages !== undefined) libraries.push(...librariesOf(program, directory))
  }
  const search = libraries.filter((path) => path !== '').join(':')
  // Applies to these programs only; all others use the libraries of the machine.
  if (search !== '') environment.LATCHKEY_TEST_LIBRARIES = search
  return { environment, missing }
}

function obtain(program) {
  try {
    return program.obtain?.() ?? obtainPrograms(program)
  } catch (error) {
    return { problem: error.message }
  }
}

/** Returns instructions for getting the program. */
export function adviceFor({ advice, packages, variable }) {
  if (advice !== undefined) return advice
  const install = `apt-get install ${packages.join(' ')}`
  return `Install it (Debian: ${install}), or set ${variable} to the directory of its programs.`
}
