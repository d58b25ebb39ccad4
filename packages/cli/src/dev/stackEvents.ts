/** The events of a stack: signatures, settlements, other transactions, and responses of the seller. */
import { BoundedMap, Readable } from '@latchkey/algorand'
import type { DaemonOptions } from '@latchkey/kmd'
import { Facilitator, type FacilitatorOptions } from '@latchkey/x402/facilitator'
import type { GateHooks } from '@latchkey/x402/server'
import { quoted, shortened } from '../format.js'
import { dollarAssetId } from '../stack/stackValues.js'
import type { EventKind, OnEvent } from './EventPrinter.js'

type OnSignature = NonNullable<DaemonOptions['onSignature']>

/** Formats an amount in base units for people. */
function amountOf(amount: bigint, assetId: bigint): string {
  return Readable.money({ assetId, amount }, { dollarAssetIds: [dollarAssetId] })
}

export function signatureEvents(onEvent: OnEvent): OnSignature {
  return ({ facts }) => {
    const { transactionId, type, sender, receiver, amount, assetId } = facts
    const who = shortened(sender)
    const what =
      type === 'pay' || type === 'axfer'
        ? `${who} sends ${amountOf(amount, assetId)} to ${shortened(receiver)}`
        : `a transaction of type ${quoted(type)} of ${who}`
    const text = type === 'program' ? `signed a program for ${who}` : `signed ${shortened(transactionId)}: ${what}`
    onEvent({ part: 'key daemon', kind: 'note', text })
  }
}

const maxRounds = 1_000
const maxHeld = 100

/**
 * Reports transactions on the ledger. The facilitator reports those of a settlement, so transactions confirmed during a
 * settlement are held back until it is known whether they belong to it.
 */
export class LedgerEvents {
  readonly #onEvent: OnEvent
  readonly #rounds = new BoundedMap<string, string>(maxRounds)
  #held: { readonly round: string; readonly text: string }[] = []
  #settling = 0

  constructor(onEvent: OnEvent) {
    this.#onEvent = onEvent
  }

  /** Handles a line of the devnet: `round 3  ID  what`, or `rejected  what`. */
  readonly onLine = (line: string): void => {
    const [, round, id, what] = /^round ([0-9]+) {2}([A-Z2-7]{52}) {2}(.*)$/s.exec(line) ?? []
    if (round === undefined || id === undefined || what === undefined) {
      if (this.#settling === 0) this.#onEvent({ part: 'devnet', kind: 'refused', text: line.replace(/ +/, ' ') })
      return
    }
    this.#rounds.set(id, round)
    const held = { round, text: `round ${round}: ${what}, ${shortened(id)}` }
    if (this.#settling === 0) this.#report(held)
    else if (this.#held.length < maxHeld) this.#held.push(held)
  }

  /** Returns the round of a recently confirmed transaction. */
  roundOf(transactionId: string): string | undefined {
    return this.#rounds.get(transactionId)
  }

  /** Calls `settle` and returns its result. Transactions in the round of the settlement are not reported here. */
  async during<T extends { readonly transaction?: string | undefined }>(settle: () => Promise<T>): Promise<T> {
    this.#settling++
    try {
      const result = await settle()
      const round = this.roundOf(result.transaction ?? '')
      this.#held = this.#held.filter((one) => one.round !== round)
      return result
    } finally {
      this.#settling--
      if (this.#settling === 0) for (const held of this.#held.splice(0)) this.#report(held)
    }
  }

  #report({ text }: { readonly text: string }): void {
    this.#onEvent({ part: 'devnet', kind: 'note', text })
  }
}

type Result = Awaited<ReturnType<Facilitator['settle']>>

/** A facilitator that reports its settlements and refusals. */
export class ReportingFacilitator extends Facilitator {
  readonly #onEvent: OnEvent
  readonly #ledger: LedgerEvents

  constructor(options: FacilitatorOptions, onEvent: OnEvent, ledger: LedgerEvents) {
    super(options)
    this.#onEvent = onEvent
    this.#ledger = ledger
  }

  override async verify(...args: Parameters<Facilitator['verify']>): ReturnType<Facilitator['verify']> {
    const result = await super.verify(...args)
    const { isValid, invalidReason, invalidMessage } = result
    if (!isValid) this.#refuse(args[1], invalidMessage ?? invalidReason)
    return result
  }

  override async settle(...args: Parameters<Facilitator['settle']>): Promise<Result> {
    const result = await this.#ledger.during(() => super.settle(...args))
    const { success, transaction, payer, errorMessage, errorReason, extra } = result
    const round = extra?.['round'] ?? this.#ledger.roundOf(transaction)
    if (!success) this.#refuse(args[1], errorMessage ?? errorReason)
    else {
      const where = round === undefined ? '' : ` in round ${round}`
      const from = payer === undefined ? '' : ` from ${shortened(payer)}`
      const text = `settled ${shortened(transaction)}${where}: ${priceOf(args[1])}${from}`
      this.#onEvent({ part: 'facilitator', kind: 'done', text })
    }
    return result
  }

  #refuse(requirements: Parameters<Facilitator['settle']>[1], why: string | undefined): void {
    // Messages quote input of the buyer.
    const reason = why === undefined ? 'no reason given' : quoted(why.slice(0, maxReasonLength))
    this.#onEvent({ part: 'facilitator', kind: 'refused', text: `refused ${priceOf(requirements)}: ${reason}` })
  }
}

const maxReasonLength = 120
const maxPathLength = 60

function priceOf(requirements: { readonly amount?: unknown; readonly asset?: unknown } | undefined): string {
  const [amount, asset] = [String(requirements?.amount ?? ''), String(requirements?.asset ?? '')]
  const isKnown = /^[0-9]{1,20}$/.test(amount) && /^[0-9]{1,20}$/.test(asset)
  return isKnown ? amountOf(BigInt(amount), BigInt(asset)) : 'a payment'
}

/** The events of a seller's gate: 402 sent, paid, refused. */
export function sellerEvents(onEvent: OnEvent): GateHooks {
  const report = (kind: EventKind, text: string): void => onEvent({ part: 'seller', kind, text })
  return {
    onPaymentRequired: ({ prices, ...request }) =>
      report('note', `402 sent for ${pathOf(request)}: ${prices.join(' or ')}`),
    onSettled: ({ payment: { amountText, payer }, ...request }) =>
      report('done', `paid ${amountText} by ${shortened(payer)} for ${pathOf(request)}`),
    // Messages quote input of the buyer.
    onRefused: ({ code, message, ...request }) =>
      report(
        'refused',
        `refused for ${pathOf(request)}: ${quoted(code)}, ${quoted(message.slice(0, maxReasonLength))}`,
      ),
  }
}

/** The client chooses the path. */
function pathOf({ method, path }: { readonly method: string; readonly path: string }): string {
  const shown = path.slice(0, maxPathLength)
  return `${quoted(method)} ${/^[\w/.-]*$/.test(shown) ? shown : JSON.stringify(shown)}`
}
