/** Transaction signers for algosdk 3, and for AlgoKit utils 9 and older, which use its types. */
import type { TransactionSigner } from 'algosdk'
import { multisigSigner, signGroup, singleSigner } from './groupSigner.js'
import type { PublicKey, Wallet } from './Wallet.js'

/**
 * A signer whose key stays in the daemon: for `AtomicTransactionComposer` and wherever algosdk takes a signer. Unlock the
 * wallet with a function that returns the password, which the daemon needs with every signature.
 *
 * @param address the key to sign with, for accounts that were rekeyed to it; by default the sender's
 * @throws KmdClientError when it is called
 *
 * @example
 * const wallet = await kmd.unlock({ name: 'treasury', password: () => askOperator() })
 * composer.addTransaction({ txn, signer: transactionSigner(wallet) })
 */
export function transactionSigner(wallet: Wallet, address?: PublicKey): TransactionSigner {
  const sign = singleSigner(wallet, address)
  return (group, indexesToSign) =>
    signGroup(
      group.map((transaction) => transaction.toByte()),
      indexesToSign,
      sign,
    )
}

/**
 * A signer for a multisig account whose preimage, and enough of whose members' keys, are in the wallet. It signs for
 * accounts that were rekeyed to the multisig too.
 *
 * @throws KmdClientError `multisig_incomplete` if the wallet has too few keys, and others, when it is called
 *
 * @example
 * composer.addTransaction({ txn, signer: multisigTransactionSigner(wallet, multisigAddress) })
 */
export function multisigTransactionSigner(wallet: Wallet, multisigAddress: string): TransactionSigner {
  const sign = multisigSigner(wallet, multisigAddress)
  return (group, indexesToSign) =>
    signGroup(
      group.map((transaction) => transaction.toByte()),
      indexesToSign,
      sign,
    )
}
