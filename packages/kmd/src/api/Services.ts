/** What operations work on, and the two things nearly all of them begin with. */
import { Address } from '@latchkey/algorand'
import type { SignatureLog } from '../activity/SignatureLog.js'
import type { Sessions } from '../console/Sessions.js'
import type { Tickets } from '../console/Tickets.js'
import { KmdError } from '../errors.js'
import type { Handles } from '../Handles.js'
import type { PasswordThrottle } from '../wallet/PasswordThrottle.js'
import { retryWhileLocked } from '../wallet/Sqlite.js'
import type { UnlockedWallet } from '../wallet/UnlockedWallet.js'
import type { Entry } from '../wallet/WalletDirectory.js'
import { driverName, driverVersion } from '../wallet/WalletFile.js'
import type { Wallets } from '../wallet/Wallets.js'
import type { NodeClient } from './NodeClient.js'

export type Services = {
  wallets: Wallets
  handles: Handles
  throttle: PasswordThrottle
  tickets: Tickets
  sessions: Sessions
  signings: SignatureLog
  /** The Algorand node, if the operator named one. */
  node: NodeClient | undefined
  startedAtMs: number
  version: string
}

/**
 * Does `work` on the wallet's file if the password is the wallet's. Right away, unless wrong passwords came before:
 * then after the wait they cost.
 */
export function withPassword<T>(
  services: Services,
  wallet: UnlockedWallet,
  password: Uint8Array,
  work: () => T,
): T | Promise<T> {
  const { throttle } = services
  const { key } = wallet
  const check = (): void => {
    if (!wallet.isPassword(password)) throw new KmdError('wrong_password')
  }
  if (!throttle.isOpen(key)) return throttle.attempt(key, check).then(() => retryWhileLocked(work))
  const isRight = wallet.isPassword(password)
  throttle.record(key, isRight)
  if (!isRight) throw new KmdError('wrong_password')
  return retryWhileLocked(work)
}

export function decodeAddress(text: string): Uint8Array {
  try {
    return Address.decode(text)
  } catch (error) {
    throw new KmdError('bad_address', { cause: error })
  }
}

export function isZero(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte !== 0) return false
  return true
}

const supportedTransactions = ['pay', 'keyreg'] as const

export function describeWallet(wallet: { id: Uint8Array; name: Uint8Array }) {
  return {
    driver_name: driverName,
    driver_version: driverVersion,
    id: wallet.id,
    mnemonic_ux: false,
    name: wallet.name,
    // The reference names these two whatever a wallet can sign, which is every type.
    supported_txs: supportedTransactions,
  }
}

/**
 * The same list gives the same, frozen, output, which is written once (see `Operation.run`). Lists live as long as
 * their handle, or as long as nothing changes.
 */
function memoize<T extends readonly unknown[], O extends object>(describe: (list: T) => O): (list: T) => O {
  const described = new WeakMap<T, O>()
  return (list) => {
    let output = described.get(list)
    if (output === undefined) {
      output = Object.freeze(describe(list))
      described.set(list, output)
    }
    return output
  }
}

export const describeAddresses = memoize((addresses: readonly string[]) => ({ addresses }))
export const describeWallets = memoize((entries: readonly Entry[]) => ({ wallets: entries.map(describeWallet) }))
