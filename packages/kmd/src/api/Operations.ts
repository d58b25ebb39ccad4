/** Every operation with its description and implementation, in the order of /swagger.json. */
import { type Operation as Described, operations as described } from '@latchkey/kmd-api'
import { KmdError } from '../errors.js'
import { agentOperations } from './agentOperations.js'
import { approvalOperations } from './approvalOperations.js'
import { auditOperations } from './auditOperations.js'
import { backupOperations } from './backupOperations.js'
import type { AgentCaller, Context, OwnerCaller } from './Context.js'
import { consoleOperations } from './consoleOperations.js'
import { contactOperations } from './contactOperations.js'
import { describeOperations } from './describeOperation.js'
import type { AuditFunctions, Implementations } from './Implementation.js'
import { keyOperations } from './keyOperations.js'
import { extraOperations } from './latchkeyOperations.js'
import { multisigOperations } from './multisigOperations.js'
import { nodeOperations } from './nodeOperations.js'
import { ownAgentOperations } from './ownAgent.js'
import { serviceOperations } from './serviceOperations.js'
import { signOperations } from './signOperations.js'
import { submitOperations } from './submitOperations.js'
import { transferOperations } from './transferOperations.js'
import { walletOperations } from './walletOperations.js'

/** A described operation without an implementation is a type error here. */
const implementations: Implementations = {
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

/** The members of a request or response. */
export type Members = { readonly [name: string]: unknown }

type Run<C> = (context: Context, input: Members, caller: C) => Members | Promise<Members>

/** An operation whose types were checked by `Implementations`, erased for the list. */
export type Operation = Described & {
  readonly run: Run<OwnerCaller>
  readonly runAsAgent: Run<AgentCaller>
  readonly reusesOutput?: true
  readonly record?: AuditFunctions<Members, Members>
}

const agentsOnly = (): never => {
  throw new KmdError('agent_token_required')
}

/** Not reached: the request handler rejects the token of an agent before. */
const ownersOnly = (): never => {
  throw new KmdError('agent_operation_forbidden')
}

export const operations: readonly Operation[] = described.map((description) => ({
  ...description,
  run: agentsOnly,
  runAsAgent: ownersOnly,
  ...(implementations[description.id] as Partial<Operation>),
}))

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
