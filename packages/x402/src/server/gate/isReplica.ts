/** The startup warning of a gate whose claims other replicas do not see. */
export const memoryClaimsWarning =
  'this process is one of several, and its claims are in its memory: one payment could open a request in each of them; ' +
  'pass `claims: new SqliteClaims(path)`, or another store that all of them share'

/** Whether a process manager or `node:cluster` runs several instances of this process. */
export function isReplica(): boolean {
  const node = globalThis.process
  // PM2 and others number the instances.
  if (node?.env?.['NODE_APP_INSTANCE'] !== undefined) return true
  const cluster = node?.getBuiltinModule?.('node:cluster') as { isWorker?: boolean } | undefined
  return cluster?.isWorker === true
}
