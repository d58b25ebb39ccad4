/** Manages a folder outside the clone, with packages from the tarballs and from the registry. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Place } from '../docs/Shell.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import type { Tarball } from './Tarballs.test.helper.js'

/** The version for each `npm install NAME` of a page: the one that all other tests use. */
const versions: { readonly [name: string]: string } = {
  '@photostructure/sqlite': versionOf('@photostructure/sqlite'),
  algosdk: versionOf('algosdk'),
  express: versionOf('express'),
  hono: versionOf('hono'),
  vitest: '4.1.12',
}

/** The newest version lacks a binary on some mirrors. */
const overrides = { rolldown: '1.2.15' }

function versionOf(name: string): string {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: { [path: string]: { version: string } }
  }
  return lock.packages[`node_modules/${name}`]!.version
}

/** Returns the arguments of `npm install` that take a package and its siblings from the tarballs. */
export function tarballsOf(tarballs: readonly Tarball[], name: string): string[] {
  const byName = new Map(tarballs.map((one) => [one.name, one]))
  const found = new Set<Tarball>()
  const visit = (one: Tarball | undefined): void => {
    if (one === undefined || found.has(one)) return
    found.add(one)
    for (const dependency of Object.keys(one.dependencies)) visit(byName.get(dependency))
  }
  visit(byName.get(name))
  return [...found].map(({ path }) => path)
}

export function outside(tarballs: readonly Tarball[]): Place {
  const names = new Set(tarballs.map(({ name }) => name))
  const real = (name: string): string[] =>
    names.has(name) ? tarballsOf(tarballs, name) : [`${name}@${versions[name] ?? 'a version is missing in the test'}`]
  const install = (command: string): string => {
    const [npm, verb, ...words] = command.split(' ')
    const flags = words.filter((word) => word.startsWith('-'))
    const packages = new Set(words.filter((word) => !word.startsWith('-')).flatMap(real))
    return [npm, verb, '--prefer-offline', '--no-audit', '--no-fund', ...flags, ...packages].join(' ')
  }
  const settings = Object.entries(overrides).map(([name, version]) => `overrides.${name}=${version}`)
  return {
    name: 'weather',
    prepare: () => undefined,
    environment: () => ({
      ...networkEnvironment(),
      NO_COLOR: '1',
      npm_config_update_notifier: 'false',
      // A missing package must not be downloaded without the page's knowledge.
      npm_config_yes: 'false',
    }),
    rewrites: [
      [/^npm init -y$/, (command) => `${command} && npm pkg set ${settings.join(' ')}`],
      [/^npm install .*$/, install],
    ],
    notRun: [],
  }
}

/** Returns the settings of the person running the tests for reaching the registry, and the npm cache. */
function networkEnvironment(): { [name: string]: string } {
  const passed =
    /^(https?_proxy|no_proxy|node_extra_ca_certs|ssl_cert_file|npm_config_(registry|cafile|proxy|https_proxy))$/i
  const given = Object.entries(process.env).filter(([name, value]) => passed.test(name) && value !== undefined)
  return {
    ...(Object.fromEntries(given) as { [name: string]: string }),
    npm_config_userconfig: join(homedir(), '.npmrc'),
    npm_config_cache: process.env['npm_config_cache'] ?? join(homedir(), '.npm'),
  }
}

/** Without the registry, nothing outside a clone can be installed. */
export function isRegistryReachable(): boolean {
  const { status } = spawnSync('npm', ['view', 'express', 'version', '--fetch-retries=0', '--fetch-timeout=15000'], {
    stdio: 'ignore',
    timeout: 30_000,
  })
  return status === 0
}
