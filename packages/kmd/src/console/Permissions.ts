/** What a session of the console may do. A page that went wrong must not be able to lose a key, or to give one away. */

/** By the id of the operation; every other is allowed. A test asks of each new operation on which side it belongs. */
const refused: ReadonlySet<string> = new Set([
  'ExportKey',
  'ExportMasterKey',
  'DeleteKey',
  'DeleteMultisig',
  'DeleteWallet',
  'ChangeWalletPassword',
  'CreateConsoleLink',
])

export function mayUse(operationId: string): boolean {
  return !refused.has(operationId)
}
