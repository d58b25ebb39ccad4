/** Defines how each API operation is recorded. A test requires an entry for each. */
import { basename } from 'node:path'
import { Address } from '@latchkey/algorand'
import { programFacts, type SignedFacts, transactionFacts } from '../activity/SignatureLog.js'
import type { Context } from '../api/Context.js'
import { canonicalize, isZero } from '../api/signing.js'
import type { AuditEvent, EventName } from './AuditRecord.js'

/** The members of a request or response. */
export type Members = { readonly [name: string]: unknown }
type Part = Partial<Omit<AuditEvent, 'event' | 'actor'>>

export type Recording = {
  readonly event: EventName
  /**
   * `always`: the operation fails if it cannot be recorded. `all`: the operation fails only with the setting `audit:
   * all`; otherwise the record is lost, which is logged, counted and recorded later.
   */
  readonly required: 'always' | 'all'
  /** The owner's own signatures are recorded only with `audit: all`. */
  readonly isSignature?: true
  /** The operation cannot be undone. If the record is required, the log is first checked to be writable. */
  readonly isChange?: true
  /**
   * The operation runs many times a second. If the record is not required, records are batched and written soon
   * afterwards.
   */
  readonly isBulk?: true
  /** Describes the subject of the operation; runs before it. */
  readonly subject: (context: Context, input: Members) => Part | Promise<Part>
  /** Describes the result of the operation. */
  readonly result?: (input: Members, output: Members) => Part
  /** Undoes an effect that must not be returned without a record. */
  readonly undo?: (context: Context, output: Members) => void
}

/** `own`: the operation appends its records itself. `none`: the operation changes nothing and reveals no secret. */
export type Entry = Recording | 'own' | 'none'

const text = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : typeof value === 'string' ? value : ''

const byHandle = ({ handles }: Context, input: Members): Part => ({
  wallet: handles.wallet(text(input['wallet_handle_token'])).id.toString('utf8'),
})
const byHandleAndAddress = (context: Context, input: Members): Part => ({
  ...byHandle(context, input),
  address: text(input['address']),
})
const byId = (_context: Context, input: Members): Part => ({ wallet: text(input['wallet_id']) })
/** Adds the wallet's name before the operation. */
const byIdAndName = async ({ wallets }: Context, input: Members): Promise<Part> => {
  const { name } = await wallets.find(text(input['wallet_id']))
  return { ...byId(undefined as never, input), detail: { wallet_name: text(name) } }
}
const newAddress = (_input: Members, output: Members): Part => ({ address: text(output['address']) })

const exported = { event: 'key_exported', required: 'always', subject: byHandleAndAddress } as const
const masterKeyExported = { event: 'master_key_exported', required: 'always', subject: byHandle } as const

export const recordings: { readonly [operation: string]: Entry } = {
  // Wallets
  CreateWallet: {
    event: 'wallet_created',
    required: 'all',
    isChange: true,
    subject: () => ({}),
    result: (input, output) => {
      const { id, name } = output['wallet'] as Members
      const isRecovered = !isZero(input['master_derivation_key'] as Uint8Array)
      return { wallet: text(id), detail: { wallet_name: text(name), ...(isRecovered && { from: 'a master key' }) } }
    },
  },
  InitWalletHandleToken: {
    event: 'wallet_unlocked',
    required: 'all',
    subject: byId,
    undo: ({ handles }, output) => handles.release(text(output['wallet_handle_token'])),
  },
  RenameWallet: {
    event: 'wallet_renamed',
    required: 'all',
    isChange: true,
    subject: byIdAndName,
    result: (input) => ({ detail: { new_name: text(input['wallet_name']) } }),
  },
  ChangeWalletPassword: { event: 'password_changed', required: 'all', isChange: true, subject: byId },
  DeleteWallet: {
    event: 'wallet_deleted',
    required: 'always',
    isChange: true,
    subject: byIdAndName,
    result: (_input, output) => ({ detail: { moved_to: basename(text(output['moved_to'])) } }),
  },

  // Keys
  ExportMasterKey: masterKeyExported,
  BackUpWallet: masterKeyExported,
  ExportKey: exported,
  ImportKey: { event: 'key_imported', required: 'all', isChange: true, subject: byHandle, result: newAddress },
  GenerateKey: {
    event: 'key_generated',
    required: 'all',
    isChange: true,
    isBulk: true,
    subject: byHandle,
    result: newAddress,
  },
  DeleteKey: { event: 'key_deleted', required: 'always', isChange: true, subject: byHandleAndAddress },
  ImportMultisig: {
    event: 'multisig_imported',
    required: 'all',
    isChange: true,
    subject: byHandle,
    result: newAddress,
  },
  ExportMultisig: { event: 'multisig_exported', required: 'all', subject: byHandleAndAddress },
  DeleteMultisig: { event: 'multisig_deleted', required: 'always', isChange: true, subject: byHandleAndAddress },

  // Signatures
  SignTransaction: {
    event: 'transaction_signed',
    required: 'all',
    isSignature: true,
    subject: (context, input) => {
      const { bytes, sender } = canonicalize(input['transaction'] as Uint8Array)
      const key = input['public_key'] as Uint8Array
      const signer = Address.encode(isZero(key) ? sender : key)
      return { ...byHandle(context, input), address: signer, ...signed(transactionFacts(bytes)) }
    },
  },
  SignMultisigTransaction: {
    event: 'multisig_signed',
    required: 'all',
    isSignature: true,
    subject: (context, input) => {
      const { bytes } = canonicalize(input['transaction'] as Uint8Array)
      const part = { ...byHandle(context, input), ...signed(transactionFacts(bytes)) }
      return withSigner(part, input['public_key'] as Uint8Array)
    },
  },
  SignProgram: {
    event: 'program_signed',
    required: 'all',
    isSignature: true,
    subject: (context, input) => ({
      ...byHandleAndAddress(context, input),
      ...signed(factsOfProgram(input)),
    }),
  },
  SignMultisigProgram: {
    event: 'multisig_signed',
    required: 'all',
    isSignature: true,
    subject: (context, input) => {
      const part = { ...byHandle(context, input), ...signed(factsOfProgram(input)) }
      return withSigner(part, input['public_key'] as Uint8Array)
    },
  },

  // The console: with few exceptions, its session may do what the owner does.
  OpenConsole: { event: 'console_opened', required: 'all', subject: () => ({}) },

  // Agents, approvals and the log itself
  CreateAgent: 'own',
  PauseAgent: 'own',
  ResumeAgent: 'own',
  ConfirmAgents: 'own',
  RevokeAgent: 'own',
  SetAgentRules: 'own',
  RotateAgentToken: 'own',
  SignAsAgent: 'own',
  ApprovePayment: 'own',
  DenyPayment: 'own',
  RecordAnchor: 'own',

  // Operations that change nothing, or nothing that keys depend on
  ...Object.fromEntries(
    [
      ...['GetVersion', 'GetHealth', 'ListWallets', 'ReleaseWalletHandleToken', 'RenewWalletHandleToken'],
      ...['GetWalletInfo', 'ListKeysInWallet', 'ListMultisig', 'CreateConsoleLink', 'CloseConsole', 'GetSignings'],
      ...['ListContacts', 'SetContact', 'DeleteContact', 'ListPendingBackups', 'FinishWalletBackup', 'GetNode'],
      ...['GetAccounts', 'FindTransactions', 'DescribeTransaction', 'GetTransactionParameters', 'GetAssets'],
      ...['GetHoldings', 'SimulateTransaction', 'SubmitTransaction', 'GetTransactionOutcome', 'FundAccount'],
      ...['ListAgents', 'ShowAgent', 'TestAgent', 'GetOwnAgent', 'TestOwnAgent', 'ListOwnRecords'],
      ...['WaitForApproval', 'ListApprovals', 'WatchApprovals', 'SearchAudit', 'VerifyAudit', 'PrepareAnchor'],
    ].map((id) => [id, 'none' as const]),
  ),
}

function factsOfProgram(input: Members): SignedFacts {
  return programFacts(input['data'] as Uint8Array, Address.decode(text(input['address'])))
}

function withSigner(part: Part, publicKey: Uint8Array): Part {
  return publicKey.length === 32 ? { ...part, address: Address.encode(publicKey) } : part
}

/** Amounts in the smallest unit, as decimal text. Members that a type does not have are omitted. */
function signed({ transactionId, program, type, sender, receiver, amount, assetId, feeMicroAlgos }: SignedFacts): Part {
  const detail = {
    ...{ type, sender, amount: `${amount}`, asset_id: `${assetId}`, fee_micro_algos: `${feeMicroAlgos}` },
    ...(receiver !== '' && { receiver }),
    ...(program !== '' && { program }),
  }
  return { ...(transactionId !== '' && { transaction: transactionId }), detail }
}
