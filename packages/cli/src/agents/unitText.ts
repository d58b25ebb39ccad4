/** Amounts as the daemon names their units. */
import { SpendLimit } from '@latchkey/algorand'
import { printable } from '../format.js'

/** The id is of no network: it only chooses the form. */
const dollarAssetId = 1n

/** An amount in the smallest unit of `USDC`, `ALGO`, `asset 123` or `payments`: `$0.50`, `2 ALGO`. */
export function unitText(units: bigint, unit: string | undefined): string {
  if (unit === 'USDC') return SpendLimit.formatAmount({ assetId: dollarAssetId, amount: units }, { dollarAssetId })
  if (unit === 'ALGO') return SpendLimit.formatAmount({ assetId: 0n, amount: units })
  return `${units} ${printable(unit ?? '')}`.trimEnd()
}
