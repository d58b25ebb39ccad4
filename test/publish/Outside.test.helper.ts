/** A folder outside of the clone, where packages come from the tarballs and from the registry. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Place } from '../docs/Shell.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import type { Tarball } from './Tarballs.test.helper.js'

/** Where a page says `npm install NAME`, this version: the one that all other tests run with. */
const versions: { readonly [name: string]: string } = {
  '@photostructure/sqlite': versionOf('@photostructure/sqlite'),
  algosdk: versionOf('algosdk'),
  express: versionOf('express'),
  hono: versionOf('hono'),
  vitest: '4.1.12',
}

/** The newest of these lacks a binary on some mirrors. */
const overrides = { rolldown: '1.2.15' }

function versionOf(name: string): string {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: { [path: string]: { version: string } }
  }
  return lock.packages[`node_modules/${name}`]!.version
}

/** What `npm install` has to be given so that a package and its siblings come from the tarballs. */
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
      // Whatever is not installed is not to be fetched behind the page's back.
      npm_config_yes: 'false',
    }),
    rewrites: [
      [/^npm init -y$/, (command) => `${command} && npm pkg set ${settings.join(' ')}`],
      [/^npm install .*$/, install],
    ],
    notRun: [],
  }
}

/** Of the person who runs the tests: how the registry is reached, and what was fetched before. */
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

/** Without the registry, nothing outside of a clone can be installed. */
export function isRegistryReachable(): boolean {
  const { status } = spawnSync('npm', ['view', 'express', 'version', '--fetch-retries=0', '--fetch-timeout=15000'], {
    stdio: 'ignore',
    timeout: 30_000,
  })
  return status === 0
}
