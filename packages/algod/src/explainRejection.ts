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
      `The receiver ${who} has not opted in to the asset ${id}. It must opt in before it can receive the asset.`,
  ],
  [
    new RegExp(`asset (\\d{1,20}) missing from ${address}`),
    ([, id, who]) => `The account ${who} has not opted in to the asset ${id}.`,
  ],
  [
    new RegExp(`asset (\\d{1,20}) frozen in ${address}`),
    ([, id, who]) => `The asset ${id} is frozen in the account ${who}: it can neither send nor receive the asset.`,
  ],
  [/asset frozen in recipient/, () => 'The asset is frozen in the account of the receiver.'],
  [/asset (\d{1,20}) does not exist/, ([, id]) => `The asset ${id} does not exist on this network.`],
  [
    /asset (\d{1,20}) not zero \(/,
    ([, id]) => `The account still holds some of the asset ${id}. Send the rest to another account, then opt out.`,
  ],
  [/cannot close asset ID in allocating account/, () => 'The creator of an asset cannot opt out of it.'],
  [
    new RegExp(`should have been authorized by ${address}`),
    ([, who]) => `The account was rekeyed: the key of ${who} must sign for it.`,
  ],
  [/fees is less than|in fees, which is less than/, () => 'The fee is too low for the network.'],
]

const byCode = {
  already_in_ledger: 'The transaction is already in the ledger.',
  lease_taken: 'A transaction with the same lease is already in the ledger: this one cannot be confirmed.',
  outside_validity: 'The transaction has expired, or is not valid yet. Prepare it again.',
  pool_full: 'The network is busy: the node accepts no transactions with this fee right now. Try again later.',
  wrong_network: "The transaction is for another network than the node's.",
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
  return `The node rejected the transaction: “${shown}”.`
}

function algos(microAlgos: string | undefined): string {
  return Amount.formatAlgos(BigInt(microAlgos ?? 0))
}
