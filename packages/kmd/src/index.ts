export { type Wire, wires } from '@latchkey/kmd-api'
export type { SignatureRecord } from './activity/SignatureLog.js'
export * as AnchorNote from './audit/AnchorNote.js'
export type {
  Actor,
  Anchor,
  AuditEvent,
  AuditMode,
  AuditRecord,
  Checkpoint,
  EventName,
  Head,
  Problem,
  ProblemType,
} from './audit/AuditChain.js'
export { AuditFile, type VerifyFileOptions } from './audit/AuditFile.js'
export type { Found, FoundRecord, Query } from './audit/searchLog.js'
export type { Verification } from './audit/verifyLog.js'
export {
  type Code,
  errors,
  exitCodes,
  KmdError,
  type KmdErrorOptions,
  StartError,
  type StartErrorCode,
} from './errors.js'

export * as Config from './process/Config.js'
export { Daemon, type DaemonOptions } from './process/Daemon.js'
export { DaemonApp, type DaemonAppOptions } from './process/DaemonApp.js'
export type { LogSettings } from './process/Log.js'
export * as MetricsToken from './process/MetricsToken.js'
export * as Token from './process/Token.js'
export { version } from './version.js'
export { checkWalletFile } from './wallet/checkWalletFile.js'
