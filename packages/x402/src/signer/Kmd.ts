import { type ConnectOptions, Kmd, type Password, type Wallet } from '@latchkey/kmd-client'
import { isUnset } from '../chain/Chain.js'
import { OptionsError } from '../errors.js'
import { checkSender, type Signer, SignerError } from './Signer.js'

/** Options of {@link fromKmd}. */
export type KmdSignerOptions = {
  /** Where the daemon is: `{ dataDir }`, which also finds it after a restart, or `{ address, token }`. */
  kmd: ConnectOptions
  /** The name of the wallet. */
  wallet: string
  /** The daemon needs it with every signature. A function that reads it keeps it out of memory in between. */
  password: Password
  /** The address of the key that signs. */
  address: string
  /**
   * The account that pays, if it is rekeyed to `address`.
   *
   * @default address
   */
  sender?: string | undefined
}

/**
 * A signer whose key stays in the key daemon. The wallet is unlocked when a signature is first needed; the client renews
 * its handle, and unlocks again if the daemon was restarted. Signing throws KmdClientError where the daemon refuses.
 *
 * @throws SignerError for an address that is not set or not valid
 * @throws OptionsError for another option that is not set
 */
export function fromKmd(options: KmdSignerOptions): Signer {
  checkOptions(options)
  const { kmd, wallet, password, address, sender } = options
  let opening: Promise<Wallet> | undefined
  const open = async (): Promise<Wallet> => {
    const daemon = await Kmd.connect(kmd)
    return daemon.unlock({ name: wallet, password: typeof password === 'function' ? password : () => password })
  }
  const opened = (): Promise<Wallet> => {
    if (opening === undefined) {
      opening = open()
      // A daemon that is not running yet may be next time.
      opening.catch(() => {
        opening = undefined
      })
    }
    return opening
  }
  return {
    address,
    sender,
    sign: async (transaction) =>
      (await opened()).signTransaction(transaction, sender === undefined ? {} : { publicKey: address }),
    // By listing the keys, which needs the handle as signing does: a trial signature would be in the daemon's log.
    check: async () => {
      if ((await (await opened()).keys()).includes(address)) return
      throw new SignerError('signer_key_missing', `the wallet ${JSON.stringify(wallet)} has no key ${address}`)
    },
  }
}

/** Here rather than at the first signature: they are often read from the environment. */
function checkOptions(options: KmdSignerOptions): void {
  const { kmd, wallet, password } = options
  if (isUnset(kmd?.dataDir) && isUnset(kmd?.address)) {
    throw new OptionsError('kmd has neither dataDir nor address', 'Pass the data directory of the key daemon.')
  }
  if (isUnset(wallet)) throw new OptionsError('wallet is not set', 'Pass the name of a wallet.')
  if (password === undefined) {
    throw new OptionsError('password is not set', 'Pass the password of the wallet; blank if it has none.')
  }
  checkSender(options)
}
