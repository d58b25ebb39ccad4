/** Every operation of the API, in the order of /swagger.json. */
import { agentOperations } from './agentOperations.js'
import { approvalOperations } from './approvalOperations.js'
import { auditOperations } from './auditOperations.js'
import { backupOperations } from './backupOperations.js'
import { consoleOperations } from './consoleOperations.js'
import { contactOperations } from './contactOperations.js'
import { describeOperation } from './describeOperation.js'
import { keyOperations } from './keyOperations.js'
import { extraOperations } from './latchkeyOperations.js'
import { multisigOperations } from './multisigOperations.js'
import { nodeOperations } from './nodeOperations.js'
import type { Operation } from './Operation.js'
import { ownAgentOperations } from './ownAgentOperations.js'
import { serviceOperations } from './serviceOperations.js'
import { signOperations } from './signOperations.js'
import { submitOperations } from './submitOperations.js'
import { transferOperations } from './transferOperations.js'
import { walletOperations } from './walletOperations.js'

export const operations: readonly Operation[] = [
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
  describeOperation,
  ...transferOperations,
  ...submitOperations,
  ...agentOperations,
  ...ownAgentOperations,
  ...approvalOperations,
  ...auditOperations,
]

const byPath = new Map<string, Operation[]>()
for (const operation of operations) {
  byPath.set(operation.path, [...(byPath.get(operation.path) ?? []), operation])
}

export function find(method: string, path: string): Operation | undefined {
  return byPath.get(path)?.find((operation) => operation.method === method)
}

/** The methods served at a path; empty if the path is not served. */
export function methods(path: string): readonly string[] {
  return (byPath.get(path) ?? []).map(({ method }) => method)
}
