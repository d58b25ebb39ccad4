/** Every operation of the API, in the order of /swagger.json. */
import { type AgentAccess, allowed, consoles, type Description, refused } from './Description.js'
import { agentOperations } from './operations/agents.js'
import { approvalOperations } from './operations/approvals.js'
import { auditOperations } from './operations/audit.js'
import { backupOperations } from './operations/backups.js'
import { consoleOperations } from './operations/console.js'
import { contactOperations } from './operations/contacts.js'
import { describeOperations } from './operations/descriptions.js'
import { keyOperations } from './operations/keys.js'
import { extraOperations } from './operations/latchkey.js'
import { multisigOperations } from './operations/multisigs.js'
import { nodeOperations } from './operations/node.js'
import { ownAgentOperations } from './operations/ownAgent.js'
import { serviceOperations } from './operations/services.js'
import { signOperations } from './operations/signatures.js'
import { submitOperations } from './operations/submissions.js'
import { transferOperations } from './operations/transfers.js'
import { walletOperations } from './operations/wallets.js'

/** The description of every operation, by id. */
export const descriptions = {
  ...serviceOperations,
  ...walletOperations,
  ...keyOperations,
  ...multisigOperations,
  ...signOperations,
  ...extraOperations,
  ...consoleOperations,
  ...contactOperations,
  ...backupOperations,
  ...nodeOperations,
  ...describeOperations,
  ...transferOperations,
  ...submitOperations,
  ...agentOperations,
  ...ownAgentOperations,
  ...approvalOperations,
  ...auditOperations,
}

/** The type of every description, by id. */
export type Descriptions = typeof descriptions

/** The id of an operation. */
export type OperationId = keyof Descriptions

/** A description with its id. */
export type Operation = Description & { readonly id: OperationId }

/** Every operation, in the order of /swagger.json. */
export const operations: readonly Operation[] = Object.entries(descriptions).map(([id, description]) => ({
  id: id as OperationId,
  ...(description as Description),
}))

/** The rules for agents' tokens on documents that are not operations. */
export const documentAccess = {
  SwaggerHandler: allowed('the description of the API is public'),
  GetMetrics: refused("they cover all of the owner's wallets and clients"),
  ConsoleFiles: consoles,
} as const satisfies { readonly [document: string]: AgentAccess }

/** The name of a document that is not an operation. */
export type DocumentId = keyof typeof documentAccess
