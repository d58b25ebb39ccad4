/** The permissions of a console session. A compromised page must not be able to delete or export keys. */

/** Forbidden operation ids; all others are allowed. A test requires a decision for each new operation. */
const forbidden: ReadonlySet<string> = new Set([
  'ExportKey',
  'ExportMasterKey',
  'DeleteKey',
  'DeleteMultisig',
  'DeleteWallet',
  'ChangeWalletPassword',
  'CreateConsoleLink',
  'PrepareAnchor',
  'RecordAnchor',
])

export function mayUse(operationId: string): boolean {
  return !forbidden.has(operationId)
}
