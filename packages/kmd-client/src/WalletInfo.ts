import type { ResponseBody } from './ResponseBody.js'

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

export function read(wallet: ResponseBody): WalletInfo {
  return {
    id: wallet.text('id'),
    name: wallet.text('name'),
    driverName: wallet.text('driver_name'),
    driverVersion: wallet.integer('driver_version'),
    mnemonicUx: wallet.bool('mnemonic_ux'),
    supportedTransactions: wallet.texts('supported_txs'),
  }
}
