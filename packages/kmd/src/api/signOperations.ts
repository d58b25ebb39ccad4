/** Signs transactions and programs, with a single key or as a member of a multisig. */
import { Program, SignedTransaction, Transaction } from '@latchkey/algorand'
import { signedProgram, signedTransaction, withSigner } from '../audit/subjects.js'
import { KmdError } from '../errors.js'
import * as AgentWallet from './agentWallet.js'
import { decodeAddress } from './decodeAddress.js'
import type { Implementations } from './Implementation.js'
import { canonicalize, isZero, signMultisig, withPassword } from './signing.js'

export const signOperations = {
  SignTransaction: {
    run: (context, input) => {
      const wallet = context.handles.wallet(input.wallet_handle_token)
      const { bytes: canonical, sender } = canonicalize(input.transaction)
      return withPassword(context, wallet, input.wallet_password, () => {
        const signer = isZero(input.public_key) ? sender : input.public_key
        const signature = wallet.sign(signer, Transaction.bytesToSign(canonical))
        const signed = SignedTransaction.attach(canonical, sender, signature, signer)
        context.signatureLog.add(wallet.key, canonical, false)
        return { signed_transaction: signed }
      })
    },
    // Ignores the password, because an agent has none.
    runAsAgent: async (context, input, caller) => {
      context.agentHandles.require(caller.agent, input.wallet_handle_token)
      const transaction = canonicalize(input.transaction)
      const signer = isZero(input.public_key) ? transaction.sender : input.public_key
      return { signed_transaction: await AgentWallet.sign(context, caller, { transaction, signer, claim: {} }) }
    },
    record: {
      subject: (context, input) =>
        signedTransaction(context, input, (sender) => (isZero(input.public_key) ? sender : input.public_key)),
    },
  },
  SignProgram: {
    run: (context, input) => {
      const wallet = context.handles.wallet(input.wallet_handle_token)
      const publicKey = decodeAddress(input.address)
      return withPassword(context, wallet, input.wallet_password, () => {
        const sig = wallet.sign(publicKey, Program.bytesToSign(input.data))
        context.signatureLog.addProgram(wallet.key, input.data, publicKey, false)
        return { sig }
      })
    },
    record: {
      subject: (context, input) => ({ ...signedProgram(context, input), address: input.address }),
    },
  },
  SignMultisigTransaction: {
    run: (context, input) => {
      const wallet = context.handles.wallet(input.wallet_handle_token)
      const { bytes: canonical, sender } = canonicalize(input.transaction)
      return withPassword(context, wallet, input.wallet_password, () => {
        if (input.signer.length !== 0 && input.signer.length !== 32) throw new KmdError('bad_signer_length')
        const multisig = signMultisig({
          wallet,
          publicKey: input.public_key,
          partial: input.partial_multisig,
          account: sender,
          accepted: [sender, input.signer],
          message: () => Transaction.bytesToSign(canonical),
        })
        context.signatureLog.add(wallet.key, canonical, true)
        return { multisig }
      })
    },
    record: { subject: (context, input) => signedTransaction(context, input, () => input.public_key) },
  },
  SignMultisigProgram: {
    run: (context, input) => {
      const wallet = context.handles.wallet(input.wallet_handle_token)
      const account = decodeAddress(input.address)
      return withPassword(context, wallet, input.wallet_password, () => {
        const multisig = signMultisig({
          wallet,
          publicKey: input.public_key,
          partial: input.partial_multisig,
          account,
          accepted: [account],
          message: (multisigAddress) =>
            input.use_legacy_msig
              ? Program.bytesToSign(input.data)
              : Program.multisigBytesToSign(multisigAddress, input.data),
        })
        context.signatureLog.addProgram(wallet.key, input.data, account, true)
        return { multisig }
      })
    },
    record: {
      subject: (context, input) => withSigner(signedProgram(context, input), input.public_key),
    },
  },
} satisfies Partial<Implementations>
