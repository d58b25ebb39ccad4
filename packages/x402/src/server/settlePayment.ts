/** Has a payment settled, and says what came of it as far as that is known. */
import { AlgodError } from '@latchkey/algod'
import type { Chain } from '../chain/Chain.js'
import type { PaymentPayload, PaymentRequirements, SettleResponse } from '../wire/types.js'
import { FacilitatorError } from './FacilitatorClient.js'
import type { Facilitators } from './Facilitators.js'
import * as LedgerPayment from './LedgerPayment.js'

export type Settling = {
  readonly facilitators: Facilitators
  readonly chain: Chain
  readonly payload: PaymentPayload
  readonly requirement: PaymentRequirements
  readonly payment: LedgerPayment.Payment
  readonly onError: (error: unknown) => void
}

export type Outcome =
  | { readonly state: 'settled'; readonly receipt: SettleResponse }
  /** It will not be settled. */
  | { readonly state: 'failed'; readonly receipt: SettleResponse }
  /** Nobody knows yet; the same payment may be shown again. */
  | { readonly state: 'pending'; readonly receipt: SettleResponse; readonly status: 502 | 503 }

const maxCode = 100
const maxMessage = 500

export async function settle(settling: Settling): Promise<Outcome> {
  const { facilitators, payload, requirement, onError } = settling
  try {
    const { answer, isTrusted } = await facilitators.settle(payload, requirement)
    if (isTrusted) return byWord(settling, answer)
    return await (answer.success ? byLedger(settling) : byLedgerOrWord(settling, answer))
  } catch (error) {
    // It may have settled before its answer was lost: the id is all that is known then.
    onError(error)
    const isNonsense = error instanceof FacilitatorError && error.isNonsense
    return pending(settling, isNonsense ? 502 : 503, 'the facilitator does not answer')
  }
}

export function settled({ payment, requirement }: Pick<Settling, 'payment' | 'requirement'>): Outcome {
  const { transactionId: transaction, payer } = payment
  const { network, amount } = requirement
  return { state: 'settled', receipt: { success: true, transaction, network, payer, amount } }
}

function byWord(settling: Settling, answer: SettleResponse): Outcome {
  if (answer.success) return settled(settling)
  if (answer.errorReason === 'settlement_pending') return pending(settling, 503, 'the ledger has not decided')
  return failed(settling, answer)
}

/** Somebody says that it is settled. The ledger has it, or it is not so. */
async function byLedger(settling: Settling): Promise<Outcome> {
  const { chain, payment, onError } = settling
  if (await LedgerPayment.confirm(chain, payment)) return settled(settling)
  onError(new FacilitatorError(`${payment.transactionId} is said to be settled, and is not in the ledger`))
  return pending(settling, 502, 'the facilitator says that it is settled, and the ledger does not have it')
}

/** Some call it a failure if they did not see it confirmed, or found it settled already. */
async function byLedgerOrWord(settling: Settling, answer: SettleResponse): Promise<Outcome> {
  try {
    const { state } = await LedgerPayment.look(settling.chain, settling.payment)
    if (state === 'settled') return settled(settling)
    if (state === 'sent') return pending(settling, 503, 'the ledger has not decided')
  } catch (error) {
    if (!(error instanceof AlgodError)) throw error
    return pending(settling, 503, 'no node answers')
  }
  const isOpen = /pending|confirmation|unexpected/.test(String(answer.errorReason))
  return isOpen ? pending(settling, 503, 'the ledger has not decided') : failed(settling, answer)
}

function failed({ payment, requirement }: Settling, { errorReason, errorMessage }: SettleResponse): Outcome {
  const receipt: SettleResponse = {
    success: false,
    errorReason: bounded(errorReason, maxCode) ?? 'settlement_failed',
    errorMessage: bounded(errorMessage, maxMessage) ?? 'the payment was not settled',
    transaction: payment.transactionId,
    network: requirement.network,
    payer: payment.payer,
  }
  return { state: 'failed', receipt }
}

function pending({ payment, requirement }: Settling, status: 502 | 503, why: string): Outcome {
  const receipt: SettleResponse = {
    success: false,
    errorReason: 'settlement_pending',
    errorMessage: `${why}; show the same payment again, it is not taken twice`,
    transaction: payment.transactionId,
    network: requirement.network,
    payer: payment.payer,
  }
  return { state: 'pending', receipt, status }
}

/** What a facilitator says goes into a header, and headers are short. */
export function bounded(text: unknown, length: number): string | undefined {
  return typeof text === 'string' && text !== '' ? text.slice(0, length) : undefined
}
