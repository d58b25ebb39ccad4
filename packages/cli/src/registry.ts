/** Every command of `latchkey`, in the order of the help. */
import type { CommandEntry } from './Command.js'

export const registry: readonly CommandEntry[] = [
  {
    name: 'dev',
    summary: 'run a chain, a key daemon, a facilitator and a seller for development',
    load: async () => (await import('./commands/dev.js')).devCommand,
  },
  { name: 'kmd', summary: 'run the key daemon', load: async () => (await import('./commands/kmd.js')).kmdCommand },
  {
    name: 'kmd start',
    summary: 'run the key daemon in the background',
    load: async () => (await import('./commands/kmd/start.js')).kmdStartCommand,
  },
  {
    name: 'kmd stop',
    summary: 'stop the key daemon',
    load: async () => (await import('./commands/kmd/stop.js')).kmdStopCommand,
  },
  {
    name: 'kmd status',
    summary: 'show daemon status and health',
    load: async () => (await import('./commands/kmd/status.js')).kmdStatusCommand,
  },
  {
    name: 'devnet',
    summary: 'run an Algorand ledger for development, with funded accounts',
    load: async () => (await import('./commands/devnet.js')).devnetCommand,
  },
  {
    name: 'devnet accounts',
    summary: "list a devnet's funded accounts and their balances",
    load: async () => (await import('./commands/devnet/accounts.js')).devnetAccountsCommand,
  },
  {
    name: 'facilitator',
    summary: 'run an x402 facilitator: verify and settle payments',
    load: async () => (await import('./commands/facilitator.js')).facilitatorCommand,
  },
  {
    name: 'facilitator migrate',
    summary: 'create or upgrade the facilitator tables in PostgreSQL',
    load: async () => (await import('./commands/facilitator/migrate.js')).facilitatorMigrateCommand,
  },
  {
    name: 'gateway',
    summary: 'sell an HTTP service: charge for its routes and forward paid requests',
    load: async () => (await import('./commands/gateway.js')).gatewayCommand,
  },
  {
    name: 'pay',
    summary: 'send a request, pay for it and print the response',
    load: async () => (await import('./commands/pay.js')).payCommand,
  },
  {
    name: 'find',
    summary: 'find paid APIs and their prices in the catalogues of facilitators',
    load: async () => (await import('./commands/find.js')).findCommand,
  },
  {
    name: 'proxy',
    summary: "let programs use a paid API through a local address, within an agent's limits",
    load: async () => (await import('./commands/proxy.js')).proxyCommand,
  },
  {
    name: 'receipts list',
    summary: 'list receipts that sellers have signed',
    load: async () => (await import('./commands/receipts/list.js')).receiptsListCommand,
  },
  {
    name: 'receipts verify',
    summary: 'verify receipts that sellers have signed',
    load: async () => (await import('./commands/receipts/verify.js')).receiptsVerifyCommand,
  },
  {
    name: 'send',
    summary: 'send ALGO or an asset',
    load: async () => (await import('./commands/send.js')).sendCommand,
  },
  {
    name: 'opt-in',
    summary: 'opt an account in to an asset',
    load: async () => (await import('./commands/opt-in.js')).optInCommand,
  },
  {
    name: 'opt-out',
    summary: 'opt an account out of an asset',
    load: async () => (await import('./commands/opt-out.js')).optOutCommand,
  },
  {
    name: 'fund',
    summary: "get ALGO and dollars from a devnet's faucet",
    load: async () => (await import('./commands/fund.js')).fundCommand,
  },
  {
    name: 'balance',
    summary: 'show account balances and how much can be spent',
    load: async () => (await import('./commands/balance.js')).balanceCommand,
  },
  {
    name: 'tx',
    summary: "show a transaction's status",
    load: async () => (await import('./commands/tx.js')).txCommand,
  },
  {
    name: 'sales',
    summary: 'show revenue by route from a claims database',
    load: async () => (await import('./commands/sales.js')).salesCommand,
  },
  {
    name: 'listen',
    summary: "show a dev stack's payment events live, and forward them",
    load: async () => (await import('./commands/listen.js')).listenCommand,
  },
  {
    name: 'trigger',
    summary: 'cause a payment event on a dev stack',
    load: async () => (await import('./commands/trigger.js')).triggerCommand,
  },
  {
    name: 'wallet new',
    summary: 'create a wallet',
    load: async () => (await import('./commands/wallet/new.js')).walletNewCommand,
  },
  {
    name: 'wallet list',
    summary: 'list the wallets',
    load: async () => (await import('./commands/wallet/list.js')).walletListCommand,
  },
  {
    name: 'wallet backup',
    summary: "show or check a wallet's recovery mnemonic",
    load: async () => (await import('./commands/wallet/backup.js')).walletBackupCommand,
  },
  {
    name: 'wallet recover',
    summary: 'create a wallet from its recovery mnemonic',
    load: async () => (await import('./commands/wallet/recover.js')).walletRecoverCommand,
  },
  {
    name: 'wallet rename',
    summary: 'rename a wallet',
    load: async () => (await import('./commands/wallet/rename.js')).walletRenameCommand,
  },
  {
    name: 'wallet password',
    summary: "change a wallet's password",
    load: async () => (await import('./commands/wallet/password.js')).walletPasswordCommand,
  },
  {
    name: 'wallet delete',
    summary: 'remove a wallet from the daemon and keep its file',
    load: async () => (await import('./commands/wallet/delete.js')).walletDeleteCommand,
  },
  {
    name: 'key new',
    summary: 'generate keys',
    load: async () => (await import('./commands/key/new.js')).keyNewCommand,
  },
  {
    name: 'key list',
    summary: 'list the keys in a wallet and their balances',
    load: async () => (await import('./commands/key/list.js')).keyListCommand,
  },
  {
    name: 'key import',
    summary: 'import a key into a wallet',
    load: async () => (await import('./commands/key/import.js')).keyImportCommand,
  },
  {
    name: 'key export',
    summary: 'show a private key',
    load: async () => (await import('./commands/key/export.js')).keyExportCommand,
  },
  {
    name: 'key delete',
    summary: 'delete a key',
    load: async () => (await import('./commands/key/delete.js')).keyDeleteCommand,
  },
  {
    name: 'multisig new',
    summary: 'create a multisig account',
    load: async () => (await import('./commands/multisig/new.js')).multisigNewCommand,
  },
  {
    name: 'multisig list',
    summary: 'list the multisig accounts in a wallet',
    load: async () => (await import('./commands/multisig/list.js')).multisigListCommand,
  },
  {
    name: 'multisig show',
    summary: 'show the members and threshold of a multisig account',
    load: async () => (await import('./commands/multisig/show.js')).multisigShowCommand,
  },
  {
    name: 'multisig delete',
    summary: 'delete a multisig account from a wallet',
    load: async () => (await import('./commands/multisig/delete.js')).multisigDeleteCommand,
  },
  {
    name: 'contact add',
    summary: 'add a contact to the address book',
    load: async () => (await import('./commands/contact/add.js')).contactAddCommand,
  },
  {
    name: 'contact list',
    summary: 'list the address book',
    load: async () => (await import('./commands/contact/list.js')).contactListCommand,
  },
  {
    name: 'contact delete',
    summary: 'remove a contact',
    load: async () => (await import('./commands/contact/delete.js')).contactDeleteCommand,
  },
  {
    name: 'agent new',
    summary: 'create an agent that can spend from a key within limits',
    load: async () => (await import('./commands/agent/new.js')).agentNewCommand,
  },
  {
    name: 'agent list',
    summary: 'list the agents',
    load: async () => (await import('./commands/agent/list.js')).agentListCommand,
  },
  {
    name: 'agent show',
    summary: "show an agent's rules and remaining budget",
    load: async () => (await import('./commands/agent/show.js')).agentShowCommand,
  },
  {
    name: 'agent limit',
    summary: "change an agent's limits and other rules",
    load: async () => (await import('./commands/agent/limit.js')).agentLimitCommand,
  },
  {
    name: 'agent test',
    summary: "test a transaction against an agent's rules",
    load: async () => (await import('./commands/agent/test.js')).agentTestCommand,
  },
  {
    name: 'agent pause',
    summary: 'stop an agent from signing until it is resumed',
    load: async () => (await import('./commands/agent/state.js')).agentPauseCommand,
  },
  {
    name: 'agent resume',
    summary: 'let a paused or suspended agent sign again',
    load: async () => (await import('./commands/agent/state.js')).agentResumeCommand,
  },
  {
    name: 'agent confirm',
    summary: 'resume agents that were suspended because the state database was rolled back',
    load: async () => (await import('./commands/agent/confirm.js')).agentConfirmCommand,
  },
  {
    name: 'agent rotate',
    summary: "replace an agent's token",
    load: async () => (await import('./commands/agent/state.js')).agentRotateCommand,
  },
  {
    name: 'agent revoke',
    summary: 'revoke an agent permanently',
    load: async () => (await import('./commands/agent/state.js')).agentRevokeCommand,
  },
  {
    name: 'approvals list',
    summary: 'list agent payments that wait for your approval',
    load: async () => (await import('./commands/approvals/list.js')).approvalsListCommand,
  },
  {
    name: 'approvals watch',
    summary: 'wait for payments that need your approval, and decide',
    load: async () => (await import('./commands/approvals/watch.js')).approvalsWatchCommand,
  },
  {
    name: 'approvals approve',
    summary: 'approve a payment',
    load: async () => (await import('./commands/approvals/decide.js')).approvalsApproveCommand,
  },
  {
    name: 'approvals deny',
    summary: 'deny a payment',
    load: async () => (await import('./commands/approvals/decide.js')).approvalsDenyCommand,
  },
  {
    name: 'mcp',
    summary: "run an MCP server that lets a model pay within an agent's limits",
    load: async () => (await import('./commands/mcp.js')).mcpCommand,
  },
  {
    name: 'mcp install',
    summary: 'print or write the client settings that start the MCP server',
    load: async () => (await import('./commands/mcp/install.js')).mcpInstallCommand,
  },
  {
    name: 'sign',
    summary: 'describe a transaction, ask for confirmation and sign it',
    load: async () => (await import('./commands/sign.js')).signCommand,
  },
  {
    name: 'console',
    summary: "print a one-time link to the daemon's web console",
    load: async () => (await import('./commands/console.js')).consoleCommand,
  },
  {
    name: 'doctor',
    summary: 'check the setup and name the fix for each problem',
    load: async () => (await import('./commands/doctor.js')).doctorCommand,
  },
  {
    name: 'config show',
    summary: 'show all settings and their sources',
    load: async () => (await import('./commands/config/show.js')).configShowCommand,
  },
  {
    name: 'service install',
    summary: 'install the key daemon as a systemd service',
    load: async () => (await import('./commands/service/install.js')).serviceInstallCommand,
  },
  {
    name: 'service uninstall',
    summary: "stop and remove the key daemon's service",
    load: async () => (await import('./commands/service/uninstall.js')).serviceUninstallCommand,
  },
  {
    name: 'service status',
    summary: "show the status of the key daemon's service",
    load: async () => (await import('./commands/service/status.js')).serviceStatusCommand,
  },
  {
    name: 'completions',
    summary: 'print a completion script for a shell',
    load: async () => (await import('./commands/completions.js')).completionsCommand,
  },
  {
    name: 'audit tail',
    summary: 'show the latest records of the audit log',
    load: async () => (await import('./commands/audit/tail.js')).auditTailCommand,
  },
  {
    name: 'audit search',
    summary: 'search the audit log',
    load: async () => (await import('./commands/audit/search.js')).auditSearchCommand,
  },
  {
    name: 'audit export',
    summary: 'export the audit log as JSON lines or CSV',
    load: async () => (await import('./commands/audit/export.js')).auditExportCommand,
  },
  {
    name: 'audit verify',
    summary: 'verify that the audit log was not altered',
    load: async () => (await import('./commands/audit/verify.js')).auditVerifyCommand,
  },
  {
    name: 'audit anchor',
    summary: "anchor the audit log's hash in a ledger",
    load: async () => (await import('./commands/audit/anchor.js')).auditAnchorCommand,
  },
  {
    name: 'token rotate',
    summary: "replace the key daemon's API token",
    load: async () => (await import('./commands/token/rotate.js')).tokenRotateCommand,
  },
  {
    name: 'token metrics',
    summary: "create a token for reading the daemon's metrics with Prometheus",
    load: async () => (await import('./commands/token/metrics.js')).tokenMetricsCommand,
  },
]
