import type { Answer } from './Answer.js'

export type WalletInfo = {
  id: string
  name: string
  driverName: string
  driverVersion: number
  mnemonicUx: boolean
  /** As the daemon says; in fact it signs every type. */
  supportedTransactions: string[]
}

export function read(wallet: Answer): WalletInfo {
  return {
    id: wallet.text('id'),
    name: wallet.text('name'),
    driverName: wallet.text('driver_name'),
    driverVersion: wallet.integer('driver_version'),
    mnemonicUx: wallet.bool('mnemonic_ux'),
    supportedTransactions: wallet.texts('supported_txs'),
  }
}
