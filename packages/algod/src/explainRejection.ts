/** Explains in plain language why a node rejects a transaction. */
import { Amount, VisibleText } from '@latchkey/algorand'
import { rejectionCode } from './rejections.js'

type Explanation = readonly [pattern: RegExp, explain: (match: RegExpExecArray) => string]

const address = '([A-Z2-7]{58})'
const maxReasonLength = 300

/** Matches algod's texts, whose beginnings are the same in all releases. */
const explanations: readonly Explanation[] = [
  [
    new RegExp(`account ${address} balance (\\d{1,20}) below min (\\d{1,20})`),
    ([, who, has, min]) =>
      `The account ${who} would be left with ${algos(has)}, below its minimum balance of ${algos(min)}.`,
  ],
  [new RegExp(`overspend \\(account ${address}`), ([, who]) => `The account ${who} does not have enough ALGO.`],
  [/overspend/, () => 'The account does not have enough ALGO.'],
  [/underflow on subtracting/, () => 'The account does not have that much of the asset.'],
  [
    new RegExp(`must optin, asset (\\d{1,20}) missing from ${address}`),
    ([, id, who]) =>
      `The receiver ${who} has not opted in to the asset ${id}. It has to opt in before it can receive it.`,
  ],
  [
    new RegExp(`asset (\\d{1,20}) missing from ${address}`),
    ([, id, who]) => `The account ${who} has not opted in to the asset ${id}.`,
  ],
  [
    new RegExp(`asset (\\d{1,20}) frozen in ${address}`),
    ([, id, who]) => `The asset ${id} is frozen in the account ${who}: it can neither send nor receive it.`,
  ],
  [/asset frozen in recipient/, () => 'The asset is frozen in the account of the receiver.'],
  [/asset (\d{1,20}) does not exist/, ([, id]) => `The asset ${id} does not exist on this network.`],
  [
    /asset (\d{1,20}) not zero \(/,
    ([, id]) => `The account still holds some of the asset ${id}. Send it away first, then opt out.`,
  ],
  [/cannot close asset ID in allocating account/, () => 'The creator of an asset cannot opt out of it.'],
  [
    new RegExp(`should have been authorized by ${address}`),
    ([, who]) => `The account was rekeyed: the key of ${who} has to sign for it.`,
  ],
  [/fees is less than|in fees, which is less than/, () => 'The fee is too low for the network.'],
]

const byCode = {
  already_in_ledger: 'The transaction is in the ledger already.',
  lease_taken: 'A transaction with the same lease is in the ledger already: this one cannot be confirmed.',
  outside_validity: 'The validity of the transaction has ended, or has not begun. Prepare it again.',
  pool_full: 'The network is busy: the node takes no transaction with this fee right now. Try again later.',
  wrong_network: 'The transaction is for another network than that of the node.',
  other: undefined,
} as const

/**
 * Returns the node's reason as a sentence. Unknown text is quoted without control characters.
 *
 * @example
 * explainRejection('overspend (account ...)') // 'The account ... does not have enough ALGO.'
 */
export function explainRejection(reason: string): string {
  for (const [pattern, explain] of explanations) {
    const match = pattern.exec(reason)
    if (match !== null) return explain(match)
  }
  const known = byCode[rejectionCode(reason)]
  if (known !== undefined) return known
  const shown = VisibleText.replaceHidden(reason).slice(0, maxReasonLength)
  return `The node rejects the transaction: “${shown}”.`
}

function algos(microAlgos: string | undefined): string {
  return Amount.formatAlgos(BigInt(microAlgos ?? 0))
}
