// The programs of other people that tests run beside ours, and the environment in which a test finds them.
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
export const nginx = { name: 'nginx', packages: ['nginx-light'], programs: ['nginx'], variable: 'NGINX_BIN' }

/** Which of them the tests below a directory of this name need. */
const needs = {
  prometheus: [prometheus],
  postgres: [postgres],
  redis: [redis],
  faults: [postgres, redis],
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
