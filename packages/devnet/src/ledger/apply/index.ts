import type { Transaction } from '@latchkey/algorand'
import { assetConfig, assetFreeze, assetTransfer } from './Assets.js'
import type { Context } from './Context.js'
import { keyRegistration } from './KeyRegistration.js'
import { payment } from './Payment.js'

export type { Context, Outcome } from './Context.js'

const byType: { readonly [type: string]: (txn: Transaction.Transaction, context: Context) => void } = {
  pay: payment,
  axfer: assetTransfer,
  acfg: assetConfig,
  afrz: assetFreeze,
  keyreg: keyRegistration,
}

/** Applies a well-formed transaction whose fee has already been taken. */
export function apply(txn: Transaction.Transaction, context: Context): void {
  byType[txn.type]!(txn, context)
}
