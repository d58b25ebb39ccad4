/** Settings that the options of `DaemonApp` can override. An option takes precedence over kmd_config.json. */
import type { Wire } from '@latchkey/kmd-api'
import type { RequestHandlerOptions } from '../RequestHandler.js'
import type { Config } from './Config.js'
import type { DaemonAppOptions } from './DaemonApp.js'
import type { LogSettings } from './Log.js'
import * as Settings from './Settings.js'

/** The form of responses. */
export function wireOf({ forceWire, wire }: DaemonAppOptions, config: Config): Wire {
  return forceWire ?? config.wire ?? wire ?? 'documented'
}

/** Which hosts and origins may send requests. */
export function accessOf(
  { allowLoopbackOrigins }: DaemonAppOptions,
  config: Config,
): Pick<RequestHandlerOptions, 'cors' | 'hosts'> {
  const { allowedOrigins, allowHeaderPna: allowPrivateNetwork } = config
  return { cors: { allowedOrigins, allowLoopbackOrigins, allowPrivateNetwork }, hosts: Settings.allowedHosts(config) }
}

/** An option takes precedence over kmd_config.json, which takes precedence over the command's default. */
export function logSettingsOf({ log = {}, forceLog = {} }: DaemonAppOptions, config: Config): LogSettings {
  return {
    format: forceLog.format ?? config.logFormat ?? log.format ?? 'text',
    level: forceLog.level ?? config.logLevel ?? log.level ?? 'info',
  }
}

/** The settings whose values in kmd_config.json are not used. */
export function overriddenBy({ node, forceLog = {} }: DaemonAppOptions): ReadonlySet<keyof Config> {
  const overridden = new Set<keyof Config>()
  if (node !== undefined) overridden.add('algod')
  if (forceLog.format !== undefined) overridden.add('logFormat')
  if (forceLog.level !== undefined) overridden.add('logLevel')
  return overridden
}
