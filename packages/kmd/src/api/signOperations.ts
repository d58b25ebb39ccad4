/** Signs transactions and programs, with a single key or as a member of a multisig. */
import { Program, SignedTransaction, Transaction } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import * as AgentWallet from './agentWallet.js'
import type { AgentCaller } from './Caller.js'
import type { Context } from './Context.js'
import { decodeAddress } from './decodeAddress.js'
import { address, bool, bytes, define, handleToken, password, publicKey } from './Operation.js'
import { canonicalize, isZero, multisigErrors, partialMultisig, signMultisig } from './signing.js'
import { withPassword } from './withPassword.js'

const transaction = {
  name: 'transaction',
  kind: bytes,
  about: 'The msgpack of a transaction, not of a signed one',
} as const

const program = { name: 'data', kind: bytes, about: 'The compiled program' } as const
const multisigMember = { name: 'multisig', shape: { type: 'base64' } } as const

export const signOperations = [
  define({
    id: 'SignTransaction',
    method: 'POST',
    path: '/v1/transaction/sign',
    about: 'Signs a transaction with the key of its sender, or with the key given.',
    request: [
      handleToken,
      transaction,
      { name: 'public_key', kind: publicKey, about: 'The key to sign with, where it is not the sender' },
      password,
    ],
    response: [{ name: 'signed_transaction', shape: { type: 'base64' } }],
    responseName: 'APIV1POSTTransactionSignResponse',
    errors: ['key_not_found'],
    walletFailure: 400,
    run: (context, input, caller) => {
      if (caller.type === 'agent') return signAsAgent(context, caller, input)
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
  }),
  define({
    id: 'SignProgram',
    method: 'POST',
    path: '/v1/program/sign',
    about: 'Signs a program with the key of an address, so that the program may act for it.',
    request: [handleToken, address, program, password],
    response: [{ name: 'sig', shape: { type: 'base64' } }],
    responseName: 'APIV1POSTProgramSignResponse',
    errors: ['key_not_found'],
    walletFailure: 400,
    run: (context, input) => {
      const wallet = context.handles.wallet(input.wallet_handle_token)
      const publicKey = decodeAddress(input.address)
      return withPassword(context, wallet, input.wallet_password, () => {
        const sig = wallet.sign(publicKey, Program.bytesToSign(input.data))
        context.signatureLog.addProgram(wallet.key, input.data, publicKey, false)
        return { sig }
      })
    },
  }),
  define({
    id: 'SignMultisigTransaction',
    method: 'POST',
    path: '/v1/multisig/sign',
    about: 'Starts a multisig signature of a transaction, or adds to one.',
    request: [
      handleToken,
      transaction,
      { name: 'public_key', kind: publicKey, about: 'The member key to sign with' },
      partialMultisig,
      password,
      { name: 'signer', kind: publicKey, about: 'The multisig address, where the sender was rekeyed to it' },
    ],
    response: [multisigMember],
    responseName: 'APIV1POSTMultisigTransactionSignResponse',
    errors: ['bad_signer_length', ...multisigErrors],
    walletFailure: 400,
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
  }),
  define({
    id: 'SignMultisigProgram',
    method: 'POST',
    path: '/v1/multisig/signprogram',
    about: 'Starts a multisig signature of a program, or adds to one.',
    request: [
      handleToken,
      address,
      program,
      { name: 'public_key', kind: publicKey, about: 'The member key to sign with' },
      partialMultisig,
      password,
      { name: 'use_legacy_msig', kind: bool, about: 'Sign as daemons before version 4.3 did' },
    ],
    response: [multisigMember],
    responseName: 'APIV1POSTMultisigProgramSignResponse',
    errors: [...multisigErrors],
    walletFailure: 400,
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
  }),
]

type AgentInput = { wallet_handle_token: string; transaction: Uint8Array; public_key: Uint8Array }

/** Ignores the password, because an agent has none. */
async function signAsAgent(context: Context, caller: AgentCaller, input: AgentInput) {
  context.agentHandles.require(caller.agent, input.wallet_handle_token)
  const transaction = canonicalize(input.transaction)
  const signer = isZero(input.public_key) ? transaction.sender : input.public_key
  return { signed_transaction: await AgentWallet.sign(context, caller, { transaction, signer, claim: {} }) }
}
