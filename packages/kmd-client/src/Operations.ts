/** Where each operation is found. Those that only the console's page has a use for are not here. */

export type Route = {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  /** Asking twice is not the same as asking once. */
  once?: true
}

export const operations = {
  GetVersion: { method: 'GET', path: '/versions' },
  SwaggerHandler: { method: 'GET', path: '/swagger.json' },
  ListWallets: { method: 'GET', path: '/v1/wallets' },
  CreateWallet: { method: 'POST', path: '/v1/wallet', once: true },
  InitWalletHandleToken: { method: 'POST', path: '/v1/wallet/init' },
  ReleaseWalletHandleToken: { method: 'POST', path: '/v1/wallet/release' },
  RenewWalletHandleToken: { method: 'POST', path: '/v1/wallet/renew' },
  RenameWallet: { method: 'POST', path: '/v1/wallet/rename', once: true },
  GetWalletInfo: { method: 'POST', path: '/v1/wallet/info' },
  ExportMasterKey: { method: 'POST', path: '/v1/master-key/export' },
  ImportKey: { method: 'POST', path: '/v1/key/import', once: true },
  ExportKey: { method: 'POST', path: '/v1/key/export' },
  GenerateKey: { method: 'POST', path: '/v1/key', once: true },
  DeleteKey: { method: 'DELETE', path: '/v1/key' },
  ListKeysInWallet: { method: 'POST', path: '/v1/key/list' },
  ListMultisig: { method: 'POST', path: '/v1/multisig/list' },
  ImportMultisig: { method: 'POST', path: '/v1/multisig/import', once: true },
  ExportMultisig: { method: 'POST', path: '/v1/multisig/export' },
  DeleteMultisig: { method: 'DELETE', path: '/v1/multisig' },
  SignTransaction: { method: 'POST', path: '/v1/transaction/sign' },
  SignProgram: { method: 'POST', path: '/v1/program/sign' },
  SignMultisigTransaction: { method: 'POST', path: '/v1/multisig/sign' },
  SignMultisigProgram: { method: 'POST', path: '/v1/multisig/signprogram' },
  GetHealth: { method: 'GET', path: '/latchkey/v1/health' },
  ChangeWalletPassword: { method: 'POST', path: '/latchkey/v1/wallet/password', once: true },
  CreateConsoleLink: { method: 'POST', path: '/latchkey/v1/console/link' },
  GetNode: { method: 'GET', path: '/latchkey/v1/node' },
  DeleteWallet: { method: 'POST', path: '/latchkey/v1/wallet/delete', once: true },
} as const satisfies Record<string, Route>

export type Operation = keyof typeof operations

export function route(operation: Operation): Route {
  return operations[operation]
}

/** Of this daemon only; the Go daemon does not have it. */
export function isExtra(operation: Operation): boolean {
  return operations[operation].path.startsWith('/latchkey/')
}
