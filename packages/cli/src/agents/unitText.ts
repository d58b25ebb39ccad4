/** Formats amounts with the daemon's unit names. */
import { SpendLimit } from '@latchkey/algorand'
import { printable } from '../format.js'

/** A placeholder id that only selects the dollar format. */
const dollarAssetId = 1n

/** Formats an amount in base units of `USDC`, `ALGO`, `asset 123` or `payments`: `$0.50`, `2 ALGO`. */
export function unitText(units: bigint, unit: string | undefined): string {
  if (unit === 'USDC') return SpendLimit.formatAmount({ assetId: dollarAssetId, amount: units }, { dollarAssetId })
  if (unit === 'ALGO') return SpendLimit.formatAmount({ assetId: 0n, amount: units })
  return `${units} ${printable(unit ?? '')}`.trimEnd()
}
