export { apiErrors, type Code } from './apiErrors.js'
export { type EventName, eventNames } from './auditEvents.js'
export {
  type Access,
  type AgentAccess,
  type Audit,
  type Description,
  define,
  descriptionPath,
  extraPrefix,
  isOpen,
  type Method,
  metricsPath,
  type Recording,
} from './Description.js'
export { errors } from './errors.js'
export * as OpenApi from './OpenApi.js'
export {
  bodyErrors,
  errorsOf,
  handleErrors,
  requestErrors,
  statusOf,
  walletFileErrors,
} from './operationErrors.js'
export type { Written } from './operations/agentSchema.js'
export { approvalShape } from './operations/approvalSchema.js'
export { auditBounds } from './operations/auditSchema.js'
export { maxMultisigMembers } from './operations/partialMultisig.js'
export {
  type Descriptions,
  type DocumentId,
  descriptions,
  documentAccess,
  type Operation,
  type OperationId,
  operations,
} from './operations.js'
export { type Reading, readingOf } from './Reading.js'
export { type Reject, readResponse } from './readResponse.js'
export {
  type CamelCase,
  type Field,
  type FieldsOf,
  type Json,
  type Kind,
  type List,
  type Member,
  type MembersOf,
  type OutputOf,
  type ReadOf,
  type RequestOf,
  type ResponseOf,
  type SentOf,
  type Shape,
  type ValueOf,
  type Wire,
  wires,
} from './Schema.js'
