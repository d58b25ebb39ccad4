/** What a person has entered to send, and the transfer that it makes. */
import type { Account } from '../responses.js'
import { format, unitOf } from './amount.js'
import { algo, readAmount, type Unit } from './amountInput.js'
import { addressOf, type KnownAddress } from './knownAddresses.js'
import type { PaymentRequest } from './paymentUri.js'
import { maxNoteBytes, type Transfer } from './transfer.js'
import { spendableMicroAlgos } from './transferChecks.js'

export type SendDraft = { from: string; assetId: string; to: string; amount: string; note: string }
export type SendErrors = { amount?: string; to?: string; note?: string }

export const blankDraft: SendDraft = { from: '', assetId: '0', to: '', amount: '', note: '' }

/** Of a transfer on a network that is not congested; the review has the exact one. */
const usualFeeMicroAlgos = 1_000n

/** What an account can send: ALGO, and each asset that it holds. */
export function unitsOf(account: Account | undefined): readonly Unit[] {
  return [algo, ...(account?.assets ?? [])]
}

/** The name of a unit in a list: several assets may have the same. */
export function unitLabel(unit: Unit): string {
  return unit.assetId === '0' || unit.unitName === '' ? unitOf(unit) : `${unit.unitName} (${unit.assetId})`
}

/** The most that the account can send, as a person would type it. */
export function wholeBalance(account: Account, unit: Unit): string {
  if (unit.assetId === '0') return format(spendableMicroAlgos(account, usualFeeMicroAlgos), algo.decimals)
  return format(account.assets.find(({ assetId }) => assetId === unit.assetId)?.amount ?? '0', unit.decimals)
}

export function availableText(account: Account | undefined, unit: Unit): string {
  if (account === undefined) return ''
  const most = `${wholeBalance(account, unit)} ${unitOf(unit)} can be sent`
  return unit.assetId === '0' ? `${most}; ${format(account.minMicroAlgos, algo.decimals)} ALGO must stay.` : `${most}.`
}

/** The transfer, or what is wrong with each field. */
export function readDraft(
  draft: SendDraft,
  options: { sender: string; unit: Unit; known: readonly KnownAddress[] },
): { transfer: Transfer } | { errors: SendErrors } {
  const { sender, unit, known } = options
  const amount = readAmount(draft.amount, unit)
  const receiver = addressOf(known, draft.to)
  const note = draft.note.trim()
  const isNoteTooLong = new TextEncoder().encode(note).length > maxNoteBytes
  if ('error' in amount || receiver === undefined || isNoteTooLong) {
    return {
      errors: {
        ...('error' in amount ? { amount: amount.error } : {}),
        ...(receiver === undefined ? { to: receiverError(draft.to) } : {}),
        ...(isNoteTooLong ? { note: `A note has at most ${maxNoteBytes} bytes.` } : {}),
      },
    }
  }
  const common = { sender, receiver, units: amount.units, note }
  const { assetId } = unit
  return { transfer: assetId === '0' ? { kind: 'pay', ...common } : { kind: 'asset', assetId, ...common } }
}

/** Fills in a payment request. An asset that the account does not hold is an error, not another asset. */
export function withRequest(
  draft: SendDraft,
  request: PaymentRequest,
  units: readonly Unit[],
): { draft: SendDraft; errors: SendErrors } {
  const unit = units.find((one) => one.assetId === (request.assetId ?? '0'))
  const filled = { ...draft, to: request.address, note: request.note ?? '' }
  if (unit === undefined) {
    return {
      draft: { ...filled, amount: '' },
      errors: { amount: `The account does not hold asset ${request.assetId}.` },
    }
  }
  const amount = request.units === undefined ? '' : format(request.units, unit.decimals)
  return { draft: { ...filled, assetId: unit.assetId, amount }, errors: {} }
}

function receiverError(text: string): string {
  if (text.trim() === '') return 'Enter the receiver.'
  return 'This is neither an address nor a name of the address book. An address has 58 letters and digits.'
}
