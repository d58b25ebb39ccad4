/** Manages a folder outside the clone, with packages from the tarballs and from the registry. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
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
    const [, verb, ...words] = command.split(' ')
    const flags = words.filter((word) => word.startsWith('-'))
    const packages = new Set(words.filter((word) => !word.startsWith('-')).flatMap(real))
    return [npm, verb, ...flags, ...packages].join(' ')
  }
  const settings = Object.entries(overrides).map(([name, version]) => `overrides.${name}=${version}`)
  return {
    name: 'weather',
    prepare: () => undefined,
    environment: npmEnvironment,
    rewrites: [
      [/^npm init -y$/, (command) => `${command} && npm pkg set ${settings.join(' ')}`],
      [/^npm install .*$/, install],
      [/^npm ci$/, () => `${npm} ci`],
    ],
    notRun: [],
  }
}

/** The command for `npm`, which makes each installation once; see `install-process.test.helper.ts`. */
export const npm = `'${process.execPath}' '${fileURLToPath(new URL('./install-process.test.helper.js', import.meta.url))}'`

export const isInstallation = (command: string): boolean => command.startsWith(npm)

let installs: string | undefined

/** Returns the folder of the installations that this process has made. */
function installsFolder(): string {
  if (installs === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-installs-'))
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    installs = folder
  }
  return installs
}

/** Returns the settings of the person running the tests for reaching the registry, and the npm cache. */
export function npmEnvironment(): { [name: string]: string } {
  const passed = /^(https?_proxy|no_proxy|ssl_cert_file|npm_config_(registry|cafile|proxy|https_proxy))$/i
  const given = Object.entries(process.env).filter(([name, value]) => passed.test(name) && value !== undefined)
  const certificates = process.env['NODE_EXTRA_CA_CERTS']
  return {
    ...(Object.fromEntries(given) as { [name: string]: string }),
    // Only for npm: the commands of the pages reach no other host, and Node parses certificates at each start.
    ...(certificates === undefined ? {} : { LATCHKEY_INSTALL_CERTIFICATES: certificates }),
    LATCHKEY_INSTALLS: installsFolder(),
    NO_COLOR: '1',
    npm_config_userconfig: join(homedir(), '.npmrc'),
    npm_config_cache: process.env['npm_config_cache'] ?? join(homedir(), '.npm'),
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
    // A missing package must not be downloaded without the page's knowledge.
    npm_config_yes: 'false',
  }
}

let isReachable: boolean | undefined

/** Without the registry, nothing outside a clone can be installed. */
export function isRegistryReachable(): boolean {
  isReachable ??= viewPackage() === 0
  return isReachable
}

function viewPackage(): number | null {
  const { status } = spawnSync('npm', ['view', 'express', 'version', '--fetch-retries=0', '--fetch-timeout=15000'], {
    stdio: 'ignore',
    timeout: 30_000,
  })
  return status
}
