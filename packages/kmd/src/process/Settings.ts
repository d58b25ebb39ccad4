/** Reads kmd_config.json at the start and on reload, derives settings from it, and applies live changes. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Lifetimes } from '../Handles.js'
import * as Config from './Config.js'
import * as ListenAddress from './ListenAddress.js'
import type { Level } from './Log.js'
import { openNodes } from './openNodes.js'

export const fileName = 'kmd_config.json'

/** The settings, and warnings about unknown names. */
export function read(dataDir: string): { config: Config.Config; unknown: readonly string[] } {
  let text: string
  try {
    text = readFileSync(join(dataDir, fileName), 'utf8')
  } catch {
    try {
      writeFileSync(join(dataDir, `${fileName}.example`), Config.example())
    } catch {
      // The example is optional.
    }
    return { config: Config.defaults, unknown: [] }
  }
  return { config: Config.parse(text), unknown: Config.unknownSettings(text) }
}

/** The lifetimes of wallet handles. */
export function lifetimes({ sessionLifetimeSecs, sessionMaxLifetimeSecs }: Config.Config): Lifetimes {
  return {
    lifetimeMs: sessionLifetimeSecs * 1000,
    maxLifetimeMs: sessionMaxLifetimeSecs === 0 ? undefined : sessionMaxLifetimeSecs * 1000,
  }
}

/** The host names served in addition to those of the loopback interface. */
export function allowedHosts(config: Config.Config): ReadonlySet<string> {
  const hosts = new Set(config.allowedHosts.map((host) => host.toLowerCase()))
  if (config.address === '') return hosts
  const { host, isLoopback } = ListenAddress.parse(config.address)
  hosts.add(host)
  // Other machines use this name. An attacker who can redirect the name could impersonate this machine anyway.
  if (!isLoopback) hosts.add(hostname().toLowerCase())
  if (host === '::') hosts.add('0.0.0.0')
  return hosts
}

/** Warnings about settings that expose the daemon to other machines or pages. */
export function findWarnings(config: Config.Config): string[] {
  const warnings: string[] = []
  if (config.allowedOrigins.includes('*')) {
    warnings.push('allowed_origins contains *: any web page that knows the token can call this daemon')
  }
  if (config.address !== '' && !ListenAddress.parse(config.address).isLoopback) {
    warnings.push(`address ${config.address} accepts unencrypted connections from other machines`)
  }
  return warnings
}

export type Reload = {
  /** The new settings; undefined if nothing changes. */
  readonly config?: Config.Config
  readonly isNodeChanged: boolean
  /** For the log. */
  readonly lines: readonly { level: Level; text: string }[]
}

/**
 * Reads the file again. Settings that need a restart keep their value and are reported. So are settings without effect
 * because a command option takes precedence (`overridden`).
 */
export function reload(
  dataDir: string,
  current: Config.Config,
  overridden: ReadonlySet<keyof Config.Config> = new Set(),
): Reload {
  let text: string
  let read: Config.Config
  try {
    text = readWhole(join(dataDir, fileName))
    read = Config.parse(text)
    Config.validate(read)
    checkNodes(read)
  } catch (error) {
    return { isNodeChanged: false, lines: [unread(error, current)] }
  }
  const warnings = Config.unknownSettings(text).map((warning) => ({ level: 'warning' as const, text: warning }))
  const changed = (Object.keys(Config.settingNames) as (keyof Config.Config)[]).filter(
    (setting) => !isDeepStrictEqual(read[setting], current[setting]),
  )
  if (changed.length === 0) {
    return { isNodeChanged: false, lines: [{ level: 'info', text: `${fileName} is unchanged` }, ...warnings] }
  }
  const live = changed.filter((setting) => Config.settingNames[setting].isLive)
  const config = { ...current, ...Object.fromEntries(live.map((setting) => [setting, read[setting]])) }
  const known = new Set(findWarnings(current))
  const newWarnings = findWarnings(config).filter((warning) => !known.has(warning))
  return {
    config,
    isNodeChanged: live.includes('algod') || live.includes('algodWitnesses'),
    lines: [
      ...taken(live.filter((setting) => !overridden.has(setting))),
      ...withoutEffect(live.filter((setting) => overridden.has(setting))),
      ...waiting(changed.filter((setting) => !Config.settingNames[setting].isLive)),
      ...[...newWarnings.map((warning) => ({ level: 'warning' as const, text: warning })), ...warnings],
    ],
  }
}

/** A settings file is never longer. */
const longestFile = 1024 * 1024

function readWhole(path: string): string {
  const stats = statSync(path)
  // Opening a named pipe would block the whole daemon.
  if (!stats.isFile()) throw new Error('it is not a regular file')
  if (stats.size > longestFile) throw new Error(`it is longer than ${longestFile} bytes`)
  return readFileSync(path, 'utf8')
}

/**
 * Checked before anything is applied. Otherwise, an invalid URL would leave the daemon with half of the new settings.
 */
function checkNodes({ algod, algodWitnesses }: Config.Config): void {
  try {
    void openNodes(algod, algodWitnesses).close()
  } catch (error) {
    throw new Error(`algod: ${(error as Error).message}`, { cause: error })
  }
}

function unread(error: unknown, current: Config.Config): Reload['lines'][number] {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
  if (isMissing && current === Config.defaults) return { level: 'info', text: `there is no ${fileName}` }
  const reason = isMissing ? 'the file is missing; a restart uses the defaults' : (error as Error).message
  return { level: 'error', text: `${fileName} was not applied, and the settings stay unchanged: ${reason}` }
}

type Names = readonly (keyof Config.Config)[]

const listed = (settings: Names): string => settings.map((setting) => Config.settingNames[setting].name).join(', ')

function taken(settings: Names): Reload['lines'] {
  return settings.length === 0 ? [] : [{ level: 'info', text: `applied ${listed(settings)} from ${fileName}` }]
}

function withoutEffect(settings: Names): Reload['lines'] {
  if (settings.length === 0) return []
  const text = `${listed(settings)} changed in ${fileName} without effect: an option of the daemon takes precedence`
  return [{ level: 'warning', text }]
}

function waiting(settings: Names): Reload['lines'] {
  if (settings.length === 0) return []
  return [{ level: 'warning', text: `${listed(settings)} changed in ${fileName}: restart the daemon to apply it` }]
}
