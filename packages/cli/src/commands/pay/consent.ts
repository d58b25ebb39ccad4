/** The information shown before a payment, and the question. */
import { Network, Readable } from '@latchkey/algorand'
import type { Offer, Payment } from '@latchkey/x402/client'
import { UsageError } from '../../errors.js'
import { printMessage } from '../../messages.js'
import { confirm, hasTerminal, printNotice } from '../../prompt.js'
import { describeAmount } from './report.js'

/** The description comes from the server. */
const maxDescriptionLength = 200

/** Asks on a terminal. Without one, --yes is required. */
export async function confirmPayment(
  { requirement, asset, amount, chain, microDollars }: Offer,
  description: string,
  isConfirmed: boolean,
): Promise<boolean> {
  const price = describeAmount(amount, asset, microDollars !== undefined)
  const where = `to ${requirement.payTo} on ${Network.phrase(chain.caip2)}`
  const isByUsage = requirement.scheme === 'upto'
  const lines = [`The request costs ${isByUsage ? 'up to ' : ''}${price}, ${where}.`]
  if (isByUsage) lines.push('The seller charges what is used, after the work, and never more.')
  // On a separate line, in quotes and before the price, so that the seller's text cannot pass for the price.
  if (description !== '') {
    lines.unshift(`The seller describes it as ${JSON.stringify(description.slice(0, maxDescriptionLength))}.`)
  }
  for (const line of lines) printMessage(line)
  if (isConfirmed) return true
  if (!hasTerminal()) {
    throw new UsageError('confirmation is required, but stdin is not a terminal', {
      code: 'confirmation_required',
      hint: 'give --yes to pay',
    })
  }
  // The question is asked on the terminal, so the price must be shown there too.
  if (!process.stderr.isTTY) for (const line of lines) printNotice(line)
  return confirm('Pay?')
}

/** No more is paid than was agreed to earlier, so no question is asked. */
export function describeRepeat({
  transactionId,
  signedMs,
  state,
  amount,
  asset,
  payTo,
  microDollars,
}: Payment): string {
  const time = Readable.time(signedMs)
  const price =
    microDollars === undefined ? `${Readable.number(amount)} of asset ${asset}` : Readable.dollars(BigInt(microDollars))
  const known = state === 'settled' ? 'is settled' : 'may still be settled'
  return `An earlier payment for the same request (${price} to ${payTo} at ${time}) got no response and ${known}: sending transaction ${transactionId} again, not a new one.`
}
