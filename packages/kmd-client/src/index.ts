export type { CallOptions } from './Connection.js'
export { type ConnectOptions, type ConsoleLink, type Health, Kmd, type NodeInfo, type UnlockOptions } from './Kmd.js'
export { KmdClientError, type Reason } from './KmdClientError.js'
export {
  type DecodedMultisigSignature,
  decode as decodeMultisigSignature,
  type MultisigSignature,
} from './MultisigSignature.js'
export type { Password, PasswordProvider, PasswordValue } from './Password.js'
export type { PublicKey } from './PublicKey.js'
export type { PasswordOptions } from './Session.js'
export type {
  ImportMultisigOptions,
  MultisigPreimage,
  SignMultisigProgramOptions,
  SignMultisigTransactionOptions,
  SignProgramOptions,
  SignTransactionOptions,
  Wallet,
} from './Wallet.js'
export type { WalletInfo } from './WalletInfo.js'
export type { CreateWalletOptions, SelectOptions, Selector, Wallets } from './Wallets.js'
