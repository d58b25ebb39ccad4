import { KmdError } from '../errors.js'
import { attemptWhileLocked } from '../wallet/Sqlite.js'
import type { UnlockedWallet } from '../wallet/UnlockedWallet.js'
import type { WalletContext } from './Context.js'

/**
 * Runs `work` on the wallet's file if the password is correct. After wrong passwords on the same handle, the check is
 * delayed. Repeated blank passwords are only one guess, so they are neither counted nor delayed, as at unlocking.
 *
 * Returns synchronous results without a promise.
 *
 * @throws {@link KmdError} `wrong_password` or `too_many_wrong_passwords`.
 */
export function withPassword<T>(
  { throttle }: Pick<WalletContext, 'throttle'>,
  wallet: UnlockedWallet,
  password: Uint8Array,
  work: () => T,
): T | Promise<T> {
  const check = (): void => {
    if (!wallet.isPassword(password)) throw new KmdError('wrong_password')
  }
  const run = (): T | Promise<T> =>
    attemptWhileLocked(() => {
      wallet.requireSamePassword()
      return work()
    })
  const checked = password.length === 0 ? check() : throttle.attemptOnHandle(wallet, check)
  return checked instanceof Promise ? checked.then(run) : run()
}
