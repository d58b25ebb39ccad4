// The programs of other people that tests run beside ours, and the environment in which a test finds them.
import { spawnSync } from 'node:child_process'
import { librariesOf, obtainPrograms } from './debian.mjs'

export const prometheus = {
  name: 'Prometheus',
  packages: ['prometheus'],
  programs: ['prometheus', 'promtool'],
  variable: 'PROMETHEUS_BIN',
}
export const postgres = {
  name: 'PostgreSQL',
  packages: ['postgresql-15', 'postgresql-client-15'],
  programs: ['initdb', 'postgres'],
  variable: 'POSTGRES_BIN',
  directories: ['18', '17', '16', '15'].map((version) => `/usr/lib/postgresql/${version}/bin`),
}
export const redis = {
  name: 'Redis',
  packages: ['redis-server'],
  programs: ['redis-server'],
  variable: 'REDIS_BIN',
}
export const nftables = { name: 'nftables', packages: ['nftables'], programs: ['nft'], variable: 'NFT_BIN' }
export const faketime = {
  name: 'libfaketime',
  packages: ['libfaketime'],
  programs: ['libfaketime.so.1'],
  variable: 'FAKETIME_LIB',
  directories: ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/faketime`),
}
export const iproute = { name: 'iproute2', packages: ['iproute2'], programs: ['ip', 'tc'], variable: 'IP_BIN' }
/** Not a program: a right that root has on most machines, and that no package brings. */
export const namespaces = {
  name: 'network namespaces',
  advice: 'Run the tests as root, on a machine that allows `unshare --net --mount --pid`.',
  isAllowed: () => spawnSync('unshare', [...ownNamespaces, 'true'], { stdio: 'ignore', timeout: 30_000 }).status === 0,
}
const ownNamespaces = ['--net', '--mount', '--pid', '--fork']
export const nginx = { name: 'nginx', packages: ['nginx-light'], programs: ['nginx'], variable: 'NGINX_BIN' }

/** Which of them the tests below a directory of this name need. */
const needs = {
  prometheus: [prometheus],
  postgres: [postgres],
  redis: [redis],
  faults: [postgres, redis, iproute, nftables, faketime, namespaces],
  crash: [faketime],
  operating: [postgres, nginx, prometheus],
}

/** The programs that a test file needs. */
export function neededBy(path) {
  const folders = path.split(/[\\/]/)
  return Object.entries(needs).flatMap(([folder, programs]) => (folders.includes(folder) ? programs : []))
}

/** Obtains what these test files need: the environment for the tests, and the programs that are not to be had. */
export function obtainFor(paths) {
  const wanted = new Set(paths.flatMap(neededBy))
  const environment = {}
  const missing = new Set()
  const libraries = [process.env.LD_LIBRARY_PATH ?? '']
  for (const one of wanted) {
    if (one.isAllowed !== undefined) {
      if (!one.isAllowed()) missing.add(one)
      continue
    }
    const directory = obtainPrograms(one)
    if (directory === undefined) missing.add(one)
    else environment[one.variable] = directory
    libraries.push(librariesOf(one, directory))
  }
  const search = libraries.filter((path) => path !== '').join(':')
  // For those programs alone: others have the libraries of the machine.
  if (search !== '') environment.LATCHKEY_TEST_LIBRARIES = search
  return { environment, missing }
}
