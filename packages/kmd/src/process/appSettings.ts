/** Settings that the options of `DaemonApp` can override. An option takes precedence over kmd_config.json. */
import type { Wire } from '@latchkey/kmd-api'
import type { SignatureRecord } from '../activity/SignatureLog.js'
import type { RequestHandlerOptions } from '../RequestHandler.js'
import type { Config } from './Config.js'
import type { LogSettings } from './Log.js'
import * as Settings from './Settings.js'

/** Options of `DaemonApp.open`. */
export type DaemonAppOptions = {
  /** An existing directory. */
  dataDir: string
  /**
   * The form of responses if kmd_config.json does not set it.
   * @default 'documented'
   */
  wire?: Wire
  /**
   * The form of responses, overriding kmd_config.json.
   * @default `wire` in kmd_config.json
   */
  forceWire?: Wire | undefined
  /**
   * The Algorand node for balances and transactions.
   * @default `algod` in kmd_config.json
   */
  node?: { url: string; token?: string | undefined } | undefined
  /**
   * Lets web pages of every loopback origin, such as `http://localhost:5173`, use the API with the token, in addition
   * to `allowed_origins`. For development only: every program on this machine can serve such a page.
   * @default false
   */
  allowLoopbackOrigins?: boolean | undefined
  /**
   * Called shortly after each signature. During a flood, called only for the latest ones.
   * @default none
   */
  onSignature?: ((signature: SignatureRecord) => void) | undefined
  /**
   * The format and minimum level of kmd.log if kmd_config.json does not set them.
   * @default the Go daemon's text format, and `info`, which logs every request
   */
  log?: LogSettings | undefined
  /**
   * The format and minimum level of kmd.log, overriding kmd_config.json.
   * @default `log_format` and `log_level` in kmd_config.json
   */
  forceLog?: LogSettings | undefined
  /**
   * Program and arguments that start the `latchkey` command, as absolute paths. The console shows them where a program
   * has to be configured with a token.
   * @default none: the console names the command alone
   */
  command?: readonly string[] | undefined
  /** Called for every `/v1` request with a valid token. */
  onActivity?: () => void
  /**
   * Called when a key derivation thread has started. Starting a thread resets flags that the process gave V8.
   *
   * A program that hosts the daemon on Node below 22.16 must also call `collectWith` of `@latchkey/system/sqlite`, as
   * the commands do: before a garbage collection, the files of closed wallets stay open.
   */
  onWorkerStart?: () => void
}

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
