/** Signs transactions, programs and receipts, with a single key or as a member of a multisig. */
import { Network, Program, SignedOffer, SignedReceipt, SignedTransaction, Transaction } from '@latchkey/algorand'
import { byHandleAndAddress, signedProgram, signedTransaction, withSigner } from '../audit/subjects.js'
import { KmdError } from '../errors.js'
import * as AgentWallet from './agentWallet.js'
import type { Implementations, InputOf } from './Implementation.js'
import { canonicalize, isZero, signMultisig, withPassword } from './signing.js'
import { decodeAddress } from './walletMembers.js'

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
  SignReceipt: {
    run: (context, input) => {
      const wallet = context.handles.wallet(input.wallet_handle_token)
      const publicKey = decodeAddress(input.address)
      const receipt = receiptOf(input)
      return withPassword(context, wallet, input.wallet_password, () => {
        const bytes = SignedReceipt.bytesToSign(publicKey, receipt)
        return { receipt: SignedReceipt.attach(bytes, wallet.sign(publicKey, bytes)) }
      })
    },
    record: {
      subject: (context, input) => {
        const { network, resourceUrl, payer, transaction } = receiptOf(input)
        const subject = { ...byHandleAndAddress(context, input), detail: { network, resource: resourceUrl, payer } }
        return transaction === undefined ? subject : { ...subject, transaction }
      },
    },
  },
  SignOffer: {
    run: (context, input) => {
      const wallet = context.handles.wallet(input.wallet_handle_token)
      const publicKey = decodeAddress(input.address)
      const offer = offerOf(input)
      return withPassword(context, wallet, input.wallet_password, () => {
        const bytes = SignedOffer.bytesToSign(publicKey, offer)
        return { offer: SignedOffer.attach(bytes, wallet.sign(publicKey, bytes)) }
      })
    },
    record: {
      subject: (context, input) => {
        const { network, resourceUrl, payTo, asset, amount } = offerOf(input)
        const detail = { network, resource: resourceUrl, receiver: payTo, asset_id: asset, amount }
        return { ...byHandleAndAddress(context, input), detail }
      },
    },
  },
} satisfies Partial<Implementations>

/** Only prices on Algorand have offers of this daemon. */
function offerOf(input: InputOf<'SignOffer'>): SignedOffer.Offer {
  const { resource_url: resourceUrl, scheme, network, asset, pay_to: payTo, amount, valid_until: validUntil } = input
  decodeAddress(payTo)
  try {
    Network.parse(network)
    return SignedOffer.checkOffer({ resourceUrl, scheme, network, asset, payTo, amount, validUntil })
  } catch (error) {
    throw new KmdError('bad_offer', { cause: error })
  }
}

const transactionId = /^[A-Z2-7]{52}$/

/** Only payments on Algorand have receipts of this daemon. The time is the daemon's own. */
function receiptOf(input: InputOf<'SignReceipt'>): SignedReceipt.Receipt {
  const { network, resource_url: resourceUrl, payer, transaction_id: id } = input
  decodeAddress(payer)
  if (id !== '' && !transactionId.test(id)) throw new KmdError('bad_transaction_id')
  const issuedAt = Math.floor(Date.now() / 1_000)
  const receipt = { network, resourceUrl, payer, issuedAt, ...(id === '' ? {} : { transaction: id }) }
  try {
    Network.parse(network)
    SignedReceipt.checkReceipt(receipt)
  } catch (error) {
    throw new KmdError('bad_receipt', { cause: error })
  }
  return receipt
}
