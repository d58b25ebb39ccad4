/** Opens a running daemon's wallets, their handles, and the checks of their passwords. */
import { join } from 'node:path'
import type { WalletContext } from '../api/Context.js'
import { ScryptPool } from '../derivation/ScryptPool.js'
import { Handles } from '../Handles.js'
import { PasswordThrottle } from '../wallet/PasswordThrottle.js'
import type { Problem } from '../wallet/WalletDirectory.js'
import { Wallets } from '../wallet/Wallets.js'
import { Closers } from './Closers.js'
import type { Config } from './Config.js'
import { explain, type Log } from './Log.js'
import * as Settings from './Settings.js'

/** Derivation threads take half as much memory again as everything else, so they end soon after their work. */
const derivationIdleMs = 3_000

export type WalletPartsOptions = {
  dataDir: string
  walletsDir: string
  config: Config
  log: Log
  onWorkerStart?: (() => void) | undefined
}

/** `close` locks the wallets, closes their files and ends the derivation threads. */
export type WalletParts = WalletContext & { readonly close: () => Promise<void> }

export function openWalletParts({ dataDir, walletsDir, config, log, onWorkerStart }: WalletPartsOptions): WalletParts {
  const closers = new Closers()
  const derivation = closers.use(new ScryptPool({ idleMs: derivationIdleMs, ...(onWorkerStart && { onWorkerStart }) }))
  const throttle = new PasswordThrottle({
    file: join(dataDir, 'latchkey_failures.json'),
    onSaveFailure: (error) => log.write('error', `the counts of wrong passwords could not be saved: ${explain(error)}`),
  })
  const onProblem = ({ file, problem }: Problem): void => log.write('warning', `wallet file ${file} ${problem}`)
  const { scrypt } = config
  const wallets = closers.use(new Wallets({ directory: walletsDir, scrypt, derivation, throttle, onProblem }))
  const handles = closers.use(new Handles(Settings.lifetimes(config)))
  return { wallets, handles, throttle, close: () => closers.close() }
}
