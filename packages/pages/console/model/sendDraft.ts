/** The contents of the send form, and the transfer they describe. */
import type { Account } from '../responseTypes.js'
import { format, unitOf } from './amount.js'
import { algo, readAmount, type Unit } from './amountInput.js'
import { addressOf, addressProblem, type KnownAddress } from './knownAddresses.js'
import type { PaymentRequest } from './paymentUri.js'
import { maxNoteBytes, type Transfer } from './transfer.js'
import { spendableMicroAlgos } from './transferChecks.js'

export type SendDraft = { from: string; assetId: string; to: string; amount: string; note: string }
export type SendErrors = { from?: string; amount?: string; to?: string; note?: string }

export const blankDraft: SendDraft = { from: '', assetId: '0', to: '', amount: '', note: '' }

/** The fee of a transfer on a network that is not congested. The review shows the exact fee. */
const usualFeeMicroAlgos = 1_000n

/** The units that an account can send: ALGO, and each asset that it holds. */
export function unitsOf(account: Account | undefined): readonly Unit[] {
  return [algo, ...(account?.assets ?? [])]
}

/**
 * The available units and the selected one. An asset that the account does not hold, or whose decimals are unknown
 * while the node does not answer, stays selected without being `known`: replacing it would change the amount.
 */
export function chosenUnit(
  account: Account | undefined,
  assetId: string,
): { units: readonly Unit[]; unit: Unit; isKnown: boolean } {
  const units = unitsOf(account)
  const found = units.find((one) => one.assetId === assetId)
  if (found !== undefined) return { units, unit: found, isKnown: true }
  const unit = { assetId, unitName: '', decimals: 0 }
  return { units: [...units, unit], unit, isKnown: false }
}

/** Explains why an amount of the selected asset cannot be parsed. */
export function unknownUnitText(account: Account | undefined, assetId: string): string {
  if (account === undefined) return `The account’s balance of asset ${assetId} is unknown: the node has not responded.`
  return `The account does not hold asset ${assetId}. Choose another asset or account.`
}

/** The label of a unit in a list. Creators choose unit names, so several assets may share one. */
export function unitLabel(unit: Unit): string {
  return unit.assetId === '0' || unit.unitName === '' ? unitOf(unit) : `${unitOf(unit)} (${unit.assetId})`
}

/** The maximum that the account can send, as a person would type it. */
export function wholeBalance(account: Account, unit: Unit): string {
  if (unit.assetId === '0') return format(spendableMicroAlgos(account, usualFeeMicroAlgos), algo.decimals)
  return format(account.assets.find(({ assetId }) => assetId === unit.assetId)?.amount ?? '0', unit.decimals)
}

export function availableText(account: Account | undefined, unit: Unit): string {
  if (account === undefined) return ''
  const most = `${wholeBalance(account, unit)} ${unitOf(unit)} can be sent`
  return unit.assetId === '0' ? `${most}; ${format(account.minMicroAlgos, algo.decimals)} ALGO must stay.` : `${most}.`
}

export type ReadDraftOptions = {
  /** Undefined if the selected account is not available. */
  sender: { address: string; account: Account | undefined } | undefined
  known: readonly KnownAddress[]
}

/** Returns the transfer, or the error of each field. A selection is never replaced by another one. */
export function readDraft(
  draft: SendDraft,
  { sender, known }: ReadDraftOptions,
): { transfer: Transfer } | { errors: SendErrors } {
  const { unit, isKnown } = chosenUnit(sender?.account, draft.assetId)
  const amount = isKnown ? readAmount(draft.amount, unit) : { error: unknownUnitText(sender?.account, draft.assetId) }
  const receiver = addressOf(known, draft.to)
  const note = draft.note.trim()
  const isNoteTooLong = new TextEncoder().encode(note).length > maxNoteBytes
  if (sender === undefined || 'error' in amount || receiver === undefined || isNoteTooLong) {
    return {
      errors: {
        ...(sender === undefined ? { from: 'Choose an account.' } : {}),
        ...('error' in amount ? { amount: amount.error } : {}),
        ...(receiver === undefined ? { to: receiverError(draft.to) } : {}),
        ...(isNoteTooLong ? { note: `A note has at most ${maxNoteBytes} bytes.` } : {}),
      },
    }
  }
  const common = { sender: sender.address, receiver, units: amount.units, note }
  const { assetId } = unit
  return { transfer: assetId === '0' ? { kind: 'pay', ...common } : { kind: 'asset', assetId, ...common } }
}

/**
 * Fills in a payment request. An asset that the account does not hold is an error and is never replaced by another
 * asset.
 */
export function withRequest(
  draft: SendDraft,
  request: PaymentRequest,
  units: readonly Unit[],
): { draft: SendDraft; errors: SendErrors } {
  const assetId = request.assetId ?? '0'
  const unit = units.find((one) => one.assetId === assetId)
  const filled = { ...draft, to: request.address, note: request.note ?? '', assetId }
  if (unit === undefined) {
    return {
      draft: { ...filled, amount: '' },
      errors: { amount: `The account does not hold asset ${request.assetId}.` },
    }
  }
  const amount = request.units === undefined ? '' : format(request.units, unit.decimals)
  return { draft: { ...filled, amount }, errors: {} }
}

function receiverError(text: string): string {
  if (text.trim() === '') return 'Enter the receiver.'
  return addressProblem(text)
}
