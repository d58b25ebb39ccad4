/** The startup warning of a gate whose claims other replicas do not see. */
export const memoryClaimsWarning =
  'this process is one of several and keeps its claims in memory: one payment could be used once in each process; ' +
  'pass `claims: new SqliteClaims(path)`, or another store that all processes share'

/** Whether a process manager or `node:cluster` runs several instances of this process. */
export function isReplica(): boolean {
  const node = globalThis.process
  // PM2 and others number the instances.
  if (node?.env?.['NODE_APP_INSTANCE'] !== undefined) return true
  const cluster = node?.getBuiltinModule?.('node:cluster') as { isWorker?: boolean } | undefined
  return cluster?.isWorker === true
}
