/** Addresses, wallets and transactions as members of requests and responses. */
import { Address, type Transaction, TransactionFile } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import type { Entry } from '../wallet/WalletDirectory.js'
import { driverName, driverVersion } from '../wallet/WalletFormat.js'

/** The reference lists these two although a wallet can sign every type. */
const supportedTransactions = ['pay', 'keyreg'] as const

export function walletMember(wallet: { id: Uint8Array; name: Uint8Array }) {
  return {
    driver_name: driverName,
    driver_version: driverVersion,
    id: wallet.id,
    mnemonic_ux: false,
    name: wallet.name,
    supported_txs: supportedTransactions,
  }
}

/** Returns the same output for the same list, so that it is serialized once (see `Operation.reusesOutput`). */
function memoize<T extends readonly unknown[], O extends object>(toOutput: (list: T) => O): (list: T) => O {
  const outputs = new WeakMap<T, O>()
  return (list) => {
    let output = outputs.get(list)
    if (output === undefined) {
      output = toOutput(list)
      outputs.set(list, output)
    }
    return output
  }
}

const toAddresses = memoize((addresses: readonly string[]) => ({ addresses }))

export function addressesOutput(list: readonly string[] | Promise<readonly string[]>) {
  return list instanceof Promise ? list.then(toAddresses) : toAddresses(list)
}

export const walletsOutput = memoize((entries: readonly Entry[]) => ({ wallets: entries.map(walletMember) }))

/**
 * Returns the public key of an address in a request.
 *
 * @throws {@link KmdError} `bad_address`.
 */
export function decodeAddress(text: string): Uint8Array {
  try {
    return Address.decode(text)
  } catch (error) {
    throw new KmdError('bad_address', { cause: error })
  }
}

/** The transactions of a request, signed or unsigned. */
export function readTransactions(given: Uint8Array): TransactionFile.Member[] {
  try {
    return TransactionFile.decode(given)
  } catch (error) {
    if (error instanceof TransactionFile.DecodeError) throw new KmdError('bad_transaction', { cause: error })
    throw error
  }
}

/** Reads a single transaction, signed or unsigned. */
export function readTransaction(given: Uint8Array): Transaction.Canonical {
  const [member, ...others] = readTransactions(given)
  if (member === undefined || others.length > 0) {
    throw new KmdError('bad_transaction', {
      message: 'send one transaction: each member of a group is decided separately',
    })
  }
  return { bytes: member.bytes, sender: member.transaction.snd }
}
