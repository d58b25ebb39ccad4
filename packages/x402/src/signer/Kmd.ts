/** A wallet held by the key daemon: the key never leaves it. */
import { type ConnectOptions, Kmd, type Password, type Wallet } from '@latchkey/kmd-client'
import type { Signer } from './Signer.js'

export type KmdSignerOptions = {
  /** Where the daemon is: `{ dataDir }`, which also finds it again after a restart, or `{ address, token }`. */
  kmd: ConnectOptions
  wallet: string
  /** The daemon wants it with every signature: better a function that asks for it than a text that stays in memory. */
  password: Password
  address: string
  /** The account that is paid from, if it was rekeyed to the address. */
  sender?: string | undefined
}

/** Unlocks when it is first needed; the client renews the handle, and opens it anew if the daemon forgot it. */
export function fromKmd({ kmd, wallet, password, address, sender }: KmdSignerOptions): Signer {
  let opening: Promise<Wallet> | undefined
  const open = async (): Promise<Wallet> => {
    const daemon = await Kmd.connect(kmd)
    return daemon.unlock({ name: wallet, password: typeof password === 'function' ? password : () => password })
  }
  const opened = (): Promise<Wallet> => {
    if (opening === undefined) {
      opening = open()
      // A daemon that is not up yet may be the next time.
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
  }
}
