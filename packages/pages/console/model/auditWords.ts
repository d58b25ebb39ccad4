/** Describes audit records in plain language. Untrusted text is shown separately and marked. */
import { formatAmount } from '@latchkey/kmd-api/rules'
import type { AuditRecord } from '../audit.js'
import { type DollarSource, dollarsOf } from './agentNetwork.js'
import { typeName } from './payments.js'
import { safeName } from './safeName.js'

const titles: { readonly [event: string]: string } = {
  transaction_signed: 'Transaction signed',
  program_signed: 'Program signed',
  multisig_signed: 'Multisig signature made',
  receipt_signed: 'Receipt signed',
  offer_signed: 'Offer signed',
  signature_refused: 'Signature refused',
  authorization_signed: 'Price by usage authorized',
  authorization_settled: 'Price by usage charged, the rest released',
  reservation_returned: 'Amount released: the transaction never entered the ledger',
  wallet_created: 'Wallet created',
  wallet_unlocked: 'Wallet unlocked',
  wallet_renamed: 'Wallet renamed',
  wallet_deleted: 'Wallet deleted',
  wrong_password: 'Wrong password',
  password_changed: 'Password changed',
  master_key_exported: 'Master key exported',
  key_generated: 'Key generated',
  key_imported: 'Key imported',
  key_exported: 'Key exported',
  key_deleted: 'Key deleted',
  multisig_imported: 'Multisig account imported',
  multisig_exported: 'Multisig account exported',
  multisig_deleted: 'Multisig account deleted',
  console_opened: 'Console opened',
  token_changed: 'API token changed',
  settings_changed: 'Settings changed',
  operation_refused: 'Operation refused',
  agent_created: 'Agent created',
  agent_changed: 'Agent’s rules changed',
  agent_paused: 'Agent paused',
  agent_resumed: 'Agent resumed',
  agent_rotated: 'Agent’s token changed',
  agent_ended: 'Agent ended',
  agent_suspended: 'Agent suspended: the state database was rolled back or damaged',
  agent_confirmed: 'Suspended agent confirmed',
  approval_requested: 'Approval requested',
  approval_approved: 'Approved',
  approval_denied: 'Denied',
  approval_expired: 'Approval expired',
  log_anchored: 'Log anchored on chain',
  log_damaged: 'Log damaged',
  records_lost: 'Records lost',
}

/** Kinds of events, for the filter. */
export const eventKinds: readonly { name: string; events: readonly string[] }[] = [
  {
    name: 'Signatures',
    events: [
      ...['transaction_signed', 'program_signed', 'multisig_signed', 'receipt_signed', 'offer_signed'],
      ...['authorization_signed', 'authorization_settled', 'reservation_returned'],
    ],
  },
  { name: 'Refusals and wrong passwords', events: ['signature_refused', 'operation_refused', 'wrong_password'] },
  {
    name: 'Approvals',
    events: ['approval_requested', 'approval_approved', 'approval_denied', 'approval_expired'],
  },
  {
    name: 'Agents',
    events: [
      ...['agent_created', 'agent_changed', 'agent_paused', 'agent_resumed', 'agent_rotated', 'agent_ended'],
      ...['agent_suspended', 'agent_confirmed'],
    ],
  },
  {
    name: 'Wallets and keys',
    events: [
      ...['wallet_created', 'wallet_unlocked', 'wallet_renamed', 'wallet_deleted', 'password_changed'],
      ...['master_key_exported', 'key_generated', 'key_imported', 'key_exported', 'key_deleted'],
      ...['multisig_imported', 'multisig_exported', 'multisig_deleted'],
    ],
  },
  { name: 'Access and settings', events: ['console_opened', 'token_changed', 'settings_changed'] },
  { name: 'The log itself', events: ['log_anchored', 'log_damaged', 'records_lost'] },
]

export function eventTitle(event: string): string {
  return titles[event] ?? event.replaceAll('_', ' ')
}

export function actorText({ actor }: AuditRecord): string {
  if (actor.type === 'agent') return `agent ${safeName(actor.name || actor.id)}`
  if (actor.type === 'owner') return 'the owner’s token'
  return actor.type === 'console' ? 'the console' : 'the daemon'
}

/** Events that the owner should look at. */
export function isWarning({ event }: AuditRecord): boolean {
  return [
    'signature_refused',
    'operation_refused',
    'wrong_password',
    'log_damaged',
    'records_lost',
    'agent_suspended',
  ].includes(event)
}

/** Describes the subject in a sentence, or returns an empty string if the title is sufficient. */
export function summary(record: AuditRecord, source: DollarSource): string {
  const { event, detail } = record
  const text = (name: string): string => textOf(record, name)
  const payee = text('payee') || text('receiver')
  const paid = paidText(record, source)
  const most = text('scheme') === 'upto' ? 'up to ' : ''
  const payment = paid === '' ? '' : `${most}${paid}${payee === '' ? '' : ` to ${payee}`}. `
  if (event === 'signature_refused') return `${payment}${text('message')}`.trim()
  if (event.startsWith('approval_')) return `${payment}${text('reason')}`.trim()
  if (event.startsWith('agent_')) {
    const limits = detail['limits']
    const list = Array.isArray(limits) ? limits.join(', ') : ''
    return [text('agent_name'), event === 'agent_ended' ? '' : list].filter((part) => part !== '').join(': ')
  }
  return payment.trim()
}

/** Records of the owner's signatures name no network: it is that of the daemon's node. */
function paidText(record: AuditRecord, source: DollarSource): string {
  const network = textOf(record, 'network') || (source.node?.genesisHash ?? '')
  const asset = textOf(record, 'asset') || textOf(record, 'asset_id')
  const amount = textOf(record, 'amount')
  const isNumber = (one: string): boolean => /^\d{1,20}$/.test(one)
  const type = textOf(record, 'type')
  if (type !== '' && type !== 'pay' && type !== 'axfer') return typeName(type)
  if (!isNumber(asset) || !isNumber(amount) || network === '') return textOf(record, 'text')
  return formatAmount({ network, assetId: BigInt(asset), amount: BigInt(amount) }, dollarsOf(source))
}

export type DetailLine = { name: string; value: string; isClaim: boolean }

/** Lists everything in the record. */
export function detailLines(record: AuditRecord): DetailLine[] {
  return Object.entries(record.detail).map(([name, value]) => ({
    name: safeName(name.replaceAll('_', ' ')),
    value: safeName(typeof value === 'string' ? value : value.join(', ')),
    isClaim: name.startsWith('claimed'),
  }))
}

/** The purposes that the caller claims, which are never verified. */
export function claims({ detail }: AuditRecord): string[] {
  return Object.entries(detail)
    .filter(([name, value]) => name.startsWith('claimed') && typeof value === 'string')
    .map(([, value]) => safeName(String(value)))
}

function textOf({ detail }: AuditRecord, name: string): string {
  const value = detail[name]
  return typeof value === 'string' ? safeName(value) : ''
}
