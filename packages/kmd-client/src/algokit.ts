/**
 * Transaction signers for AlgoKit utils 10, which has its own transaction types. Older versions use those of algosdk.
 */
import { encodeTransactionRaw, type TransactionSigner } from '@algorandfoundation/algokit-utils/transact'
import { multisigSigner, signGroup, singleSigner } from './groupSigner.js'
import type { PublicKey, Wallet } from './Wallet.js'

/**
 * Creates a signer whose key stays in the daemon. Unlock the wallet with a function that returns the password, because
 * the daemon needs the password for every signature.
 *
 * @param address the key to sign with, for accounts rekeyed to it; by default the sender's key
 * @throws KmdClientError when the signer is called
 *
 * @example
 * const wallet = await kmd.unlock({ name: 'treasury', password: () => askOperator() })
 * algorand.account.setSigner(sender, transactionSigner(wallet))
 */
export function transactionSigner(wallet: Wallet, address?: PublicKey): TransactionSigner {
  const sign = singleSigner(wallet, address)
  return (group, indexesToSign) => signGroup(group.map(encodeTransactionRaw), indexesToSign, sign)
}

/**
 * Creates a signer for a multisig account. The wallet must hold the preimage and enough members' keys. The signer also
 * signs for accounts rekeyed to the multisig account.
 *
 * @throws KmdClientError `multisig_incomplete` if the wallet has too few keys, and others, when the signer is called
 *
 * @example
 * algorand.account.setSigner(multisigAddress, multisigTransactionSigner(wallet, multisigAddress))
 */
export function multisigTransactionSigner(wallet: Wallet, multisigAddress: string): TransactionSigner {
  const sign = multisigSigner(wallet, multisigAddress)
  return (group, indexesToSign) => signGroup(group.map(encodeTransactionRaw), indexesToSign, sign)
}
