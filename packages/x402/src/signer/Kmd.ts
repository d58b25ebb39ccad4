import { type ConnectOptions, Kmd, type Password, type Wallet } from '@latchkey/kmd-client'
import { UptoPayment, UptoProgram } from '@latchkey/x402-wire'
import { isUnset } from '../chain/Chain.js'
import { OptionsError } from '../errors.js'
import { checkSender, type Signer, SignerError } from './Signer.js'

/** Options of {@link fromKmd}. */
export type KmdSignerOptions = {
  /** Where to find the daemon: `{ dataDir }`, which also works after a restart, or `{ address, token }`. */
  kmd: ConnectOptions
  /** The name of the wallet. */
  wallet: string
  /**
   * The wallet password. The daemon needs it for every signature. Pass a function to keep the password out of memory in
   * between.
   */
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
 * Creates a signer whose key stays in the key daemon. The wallet is unlocked for the first signature. The client renews
 * its handle, and unlocks the wallet again after a restart of the daemon. Signing throws a KmdClientError if the daemon
 * refuses.
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
      // Retry next time: the daemon may be running by then.
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
    // The program is built here from the terms. The owner's wallet signs it; agents have an operation of their own.
    signUpto: async (authorization) => {
      UptoPayment.checkUnsigned(authorization, sender ?? address)
      const program = UptoProgram.build(authorization.terms)
      return (await opened()).signProgram({ address, program })
    },
    // Lists the keys, which needs the handle as signing does. A trial signature would appear in the daemon's log.
    check: async () => {
      if ((await (await opened()).keys()).includes(address)) return
      throw new SignerError('signer_key_missing', `the wallet ${JSON.stringify(wallet)} has no key ${address}`)
    },
  }
}

/** Options are often read from the environment, so they are checked before the first signature. */
function checkOptions(options: KmdSignerOptions): void {
  const { kmd, wallet, password } = options
  if (isUnset(kmd?.dataDir) && isUnset(kmd?.address)) {
    throw new OptionsError('kmd has neither dataDir nor address', 'Pass the data directory of the key daemon.')
  }
  if (isUnset(wallet)) throw new OptionsError('wallet is not set', 'Pass the name of a wallet.')
  if (password === undefined) {
    throw new OptionsError('password is not set', "Pass the wallet's password, or an empty string if it has none.")
  }
  checkSender(options)
}
