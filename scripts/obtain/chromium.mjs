// Finds the browser for the page tests: an installed browser, or Debian's, which only root can install.
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { has } from './debian.mjs'

/**
 * Features that take more CPU time than most pages: for each browser context, Chromium renders the menu below its
 * address bar in a process of its own, and keeps a spare process.
 */
const unusedFeatures = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'SpareRendererForSitePerProcess',
]

/** The features that Playwright turns off: Chromium uses only the last list on its command line. */
const playwrightFeatures = [
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
]

/** The arguments of a browser without a screen, without background requests such as updates, sync and telemetry. */
export const chromiumArgs = [
  `--disable-features=${[...playwrightFeatures, ...unusedFeatures].join(',')}`,
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const names = ['chromium', 'chromium-browser', 'google-chrome']
const installMs = 600_000
const startMs = 60_000

/** Returns the path of the browser, or undefined. `CHROMIUM` in the environment overrides the search. */
export function findChromium() {
  const { CHROMIUM: given = '', PATH: path = '' } = process.env
  if (given !== '') return given
  return path
    .split(delimiter)
    .flatMap((directory) => names.map((name) => join(directory, name)))
    .find(isProgram)
}

/**
 * Whether a browser is installed and starts. On some systems, the program of this name only prints which package to
 * install.
 */
export function canRunChromium() {
  const path = findChromium()
  if (path === undefined) return false
  return (
    spawnSync(path, [...chromiumArgs, '--dump-dom', 'about:blank'], { stdio: 'ignore', timeout: startMs }).status === 0
  )
}

/**
 * Finds a browser, or installs it as root on Debian and its derivatives.
 * @returns `{ path }`, or `{ problem }` with the reason why no browser is available
 */
export function obtainChromium() {
  const found = findChromium()
  if (found !== undefined) return { path: found }
  if (!has('apt-get')) return { problem: 'this machine has no apt to install it with' }
  if (process.getuid?.() !== 0) return { problem: 'only root may install it' }
  console.error('latchkey: installing Chromium for the page tests, once; it takes up to a minute')
  let problem = ''
  for (const step of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']]) {
    const { status, stderr, error } = spawnSync('apt-get', ['-q', ...step], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
      timeout: installMs,
    })
    // Old package lists may still work; the only criterion is whether the browser is there afterwards.
    if (status !== 0) problem = error?.message ?? stderr.trim().split('\n').at(-1)
  }
  const path = findChromium()
  return path === undefined ? { problem: `apt-get could not install it: ${problem}` } : { path }
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
