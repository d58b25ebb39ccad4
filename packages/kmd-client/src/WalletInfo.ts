import type { ResponseTo } from './operations.js'

/** A wallet as the daemon describes it. */
export type WalletInfo = {
  id: string
  name: string
  driverName: string
  driverVersion: number
  mnemonicUx: boolean
  /** The transaction types that the daemon lists. The daemon signs every type, including unlisted ones. */
  supportedTransactions: string[]
}

export function read({ supportedTxs, ...wallet }: ResponseTo<'CreateWallet'>['wallet']): WalletInfo {
  return { ...wallet, supportedTransactions: supportedTxs }
}
