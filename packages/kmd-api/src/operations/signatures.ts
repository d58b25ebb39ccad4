/** Signatures of transactions and programs, with a single key or as a member of a multisig. */
import { allowed, define, onlyTransactions } from '../Description.js'
import { address, bool, bytes, handleToken, password, publicKey } from '../members.js'
import { multisigErrors, partialMultisig } from './partialMultisig.js'

const transaction = {
  name: 'transaction',
  kind: bytes,
  about: 'The msgpack of an unsigned transaction',
} as const

const program = { name: 'data', kind: bytes, about: 'The compiled program' } as const

const multisigMember = { name: 'multisig', shape: { type: 'base64' } } as const

/** Signatures of transactions and programs. */
export const signOperations = {
  SignTransaction: define({
    method: 'POST',
    path: '/v1/transaction/sign',
    about: 'Signs a transaction with the key of its sender, or with the key given.',
    request: [
      handleToken,
      transaction,
      { name: 'public_key', kind: publicKey, about: "The key to sign with, if it is not the sender's" },
      password,
    ],
    response: [{ name: 'signed_transaction', shape: { type: 'base64' } }],
    responseName: 'APIV1POSTTransactionSignResponse',
    errors: ['key_not_found'],
    walletFailure: 400,
    access: { console: 'allowed', agent: allowed('within its rules') },
    audit: { event: 'transaction_signed', required: 'all', isSignature: true },
  }),
  SignProgram: define({
    method: 'POST',
    path: '/v1/program/sign',
    about: 'Signs a program with the key of an address, so that the program can act for the address.',
    request: [handleToken, address, program, password],
    response: [{ name: 'sig', shape: { type: 'base64' } }],
    responseName: 'APIV1POSTProgramSignResponse',
    errors: ['key_not_found'],
    walletFailure: 400,
    access: { console: 'allowed', agent: onlyTransactions },
    audit: { event: 'program_signed', required: 'all', isSignature: true },
  }),
  SignMultisigTransaction: define({
    method: 'POST',
    path: '/v1/multisig/sign',
    about: 'Starts a multisig signature of a transaction, or adds to one.',
    request: [
      handleToken,
      transaction,
      { name: 'public_key', kind: publicKey, about: 'The member key to sign with' },
      partialMultisig,
      password,
      { name: 'signer', kind: publicKey, about: 'The multisig address, if the sender was rekeyed to it' },
    ],
    response: [multisigMember],
    responseName: 'APIV1POSTMultisigTransactionSignResponse',
    errors: ['bad_signer_length', ...multisigErrors],
    walletFailure: 400,
    access: { console: 'allowed', agent: onlyTransactions },
    audit: { event: 'multisig_signed', required: 'all', isSignature: true },
  }),
  SignMultisigProgram: define({
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
    access: { console: 'allowed', agent: onlyTransactions },
    audit: { event: 'multisig_signed', required: 'all', isSignature: true },
  }),
}
