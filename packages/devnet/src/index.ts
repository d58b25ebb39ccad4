export {
  createDevnetHandler,
  Devnet,
  DevnetHandler,
  type DevnetHandlerOptions,
  type DevnetOptions,
  defaultIndexerPort,
  defaultPort,
  type Funding,
} from './Devnet.js'
export type { BlockMode, Fault } from './DevnetNode.js'
export { DevnetError, type DevnetErrorCode, DumpError, errors, StateFileError } from './errors.js'
export type { DevAccount } from './ledger/Genesis.js'
export { LedgerError } from './ledger/LedgerError.js'
export { version } from './version.js'
