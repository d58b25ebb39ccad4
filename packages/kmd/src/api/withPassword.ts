import { KmdError } from '../errors.js'
import { retryWhileLocked } from '../wallet/Sqlite.js'
import type { UnlockedWallet } from '../wallet/UnlockedWallet.js'
import type { WalletContext } from './Context.js'

/**
 * Runs `work` on the wallet's file if the password is correct. After wrong passwords the check is delayed,
 * except that of a blank one.
 *
 * @throws {@link KmdError} `wrong_password` or `too_many_wrong_passwords`.
 */
export async function withPassword<T>(
  { throttle }: Pick<WalletContext, 'throttle'>,
  wallet: UnlockedWallet,
  password: Uint8Array,
  work: () => T,
): Promise<T> {
  const { key } = wallet
  if (password.length === 0) {
    // One guess, however often it is made: neither counted nor delayed, as at unlocking.
    if (!wallet.isPassword(password)) throw new KmdError('wrong_password')
  } else if (throttle.isOpen(key)) {
    const isRight = wallet.isPassword(password)
    throttle.record(key, isRight)
    if (!isRight) throw new KmdError('wrong_password')
  } else {
    await throttle.attempt(key, () => {
      if (!wallet.isPassword(password)) throw new KmdError('wrong_password')
    })
  }
  return retryWhileLocked(work)
}
