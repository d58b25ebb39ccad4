/** Signs transactions, programs and receipts, with a single key or as a member of a multisig. */
import {
  Address,
  Msgpack,
  Network,
  Program,
  SignedOffer,
  SignedReceipt,
  SignedTransaction,
  Transaction,
} from '@latchkey/algorand'
import { programFacts, type SignedFacts, transactionFacts } from '../activity/SignatureLog.js'
import type { Subject } from '../audit/AuditChain.js'
import { byHandle, byHandleAndAddress, type Handle } from '../audit/subjects.js'
import { KmdError } from '../errors.js'
import type { Context } from './Context.js'
import type { Implementations, InputOf } from './Implementation.js'
import { decodeAddress } from './members.js'
import { signMultisig } from './multisigOperations.js'
import * as OwnAgent from './ownAgent.js'

export const signOperations = {
  SignTransaction: {
    run: (context, input) => {
      const wallet = context.handles.wallet(input.wallet_handle_token)
      const { bytes: canonical, sender } = canonicalize(input.transaction)
      return context.throttle.withPassword(wallet, input.wallet_password, () => {
        const signer = signerOf(input.public_key, sender)
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
      const signer = signerOf(input.public_key, transaction.sender)
      return { signed_transaction: await OwnAgent.sign(context, caller, { transaction, signer, claim: {} }) }
    },
    record: {
      subject: (context, input) => signedTransaction(context, input, (sender) => signerOf(input.public_key, sender)),
    },
  },
  SignProgram: {
    run: (context, input) => {
      const wallet = context.handles.wallet(input.wallet_handle_token)
      const publicKey = decodeAddress(input.address)
      return context.throttle.withPassword(wallet, input.wallet_password, () => {
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
      return context.throttle.withPassword(wallet, input.wallet_password, () => {
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
      return context.throttle.withPassword(wallet, input.wallet_password, () => {
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
      return context.throttle.withPassword(wallet, input.wallet_password, () => {
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
      return context.throttle.withPassword(wallet, input.wallet_password, () => {
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

/** The canonical encoding is signed, regardless of the encoding that was sent. */
function canonicalize(transaction: Uint8Array): Transaction.Canonical {
  try {
    return Transaction.canonicalize(transaction)
  } catch (error) {
    if (error instanceof Msgpack.DecodeError) throw new KmdError('bad_transaction', { cause: error })
    throw error
  }
}

/** The key to sign with: the sender's, unless the request names another. An absent key is no bytes, or zeros. */
function signerOf(publicKey: Uint8Array, sender: Uint8Array): Uint8Array {
  return publicKey.every((byte) => byte === 0) ? sender : publicKey
}

/** A transaction that a wallet signs, with the key that signs it. */
function signedTransaction(
  context: Context,
  input: Handle & { readonly transaction: Uint8Array },
  keyOf: (sender: Uint8Array) => Uint8Array,
): Subject {
  const { bytes, sender } = canonicalize(input.transaction)
  return withSigner({ ...byHandle(context, input), ...signed(transactionFacts(bytes)) }, keyOf(sender))
}

/** A program that a wallet signs. */
function signedProgram(
  context: Context,
  input: Handle & { readonly address: string; readonly data: Uint8Array },
): Subject {
  return { ...byHandle(context, input), ...signed(programFacts(input.data, Address.decode(input.address))) }
}

function withSigner(subject: Subject, publicKey: Uint8Array): Subject {
  return publicKey.length === 32 ? { ...subject, address: Address.encode(publicKey) } : subject
}

/** Amounts in the smallest unit, as decimal text. Members that a type does not have are omitted. */
function signed(facts: SignedFacts): Subject {
  const { transactionId, program, type, sender, receiver, amount, assetId, feeMicroAlgos } = facts
  const detail = {
    ...{ type, sender, amount: `${amount}`, asset_id: `${assetId}`, fee_micro_algos: `${feeMicroAlgos}` },
    ...(receiver !== '' && { receiver }),
    ...(program !== '' && { program }),
  }
  return { ...(transactionId !== '' && { transaction: transactionId }), detail }
}

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
