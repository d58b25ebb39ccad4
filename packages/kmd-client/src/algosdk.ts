/** Transaction signers for algosdk 3, and for AlgoKit utils 9 and older, which use its types. */
import type { TransactionSigner } from 'algosdk'
import { multisigSigner, signGroup, singleSigner } from './groupSigner.js'
import type { PublicKey, Wallet } from './Wallet.js'

/**
 * Creates a signer whose key stays in the daemon, for `AtomicTransactionComposer` and other algosdk functions that take
 * a signer. Unlock the wallet with a function that returns the password, because the daemon needs the password for
 * every signature.
 *
 * @param address the key to sign with, for accounts rekeyed to it; by default the sender's key
 * @throws KmdClientError when the signer is called
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
 * Creates a signer for a multisig account. The wallet must hold the preimage and enough members' keys. The signer also
 * signs for accounts rekeyed to the multisig account.
 *
 * @throws KmdClientError `multisig_incomplete` if the wallet has too few keys, and others, when the signer is called
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
