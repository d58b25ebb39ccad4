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
export { DevnetError } from './DevnetError.js'
export type { BlockMode } from './DevnetNode.js'
export { type DevnetErrorCode, errors } from './errors.js'
export type { Fault } from './Faults.js'
export type { DevAccount } from './ledger/Genesis.js'
export { LedgerError } from './ledger/LedgerError.js'
export { DumpError } from './store/DumpError.js'
export { StateFileError } from './store/StateFileError.js'
export { version } from './version.js'
