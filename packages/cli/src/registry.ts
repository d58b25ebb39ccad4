/** Every command of `latchkey`, in the order of the help. */
import type { CommandEntry } from './Command.js'

export const registry: readonly CommandEntry[] = [
  {
    name: 'dev',
    summary: 'run chain, key daemon, facilitator and a seller for development',
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
    summary: 'say whether the key daemon runs, and how it is',
    load: async () => (await import('./commands/kmd/status.js')).kmdStatusCommand,
  },
  {
    name: 'devnet',
    summary: 'run an Algorand ledger for development, with funded accounts',
    load: async () => (await import('./commands/devnet.js')).devnetCommand,
  },
  {
    name: 'facilitator',
    summary: 'run an x402 facilitator: verify and settle payments',
    load: async () => (await import('./commands/facilitator.js')).facilitatorCommand,
  },
  {
    name: 'facilitator migrate',
    summary: 'bring the PostgreSQL tables of facilitators up to date, ahead of their start',
    load: async () => (await import('./commands/facilitator/migrate.js')).facilitatorMigrateCommand,
  },
  {
    name: 'pay',
    summary: 'send a request, pay for it within limits, print the response',
    load: async () => (await import('./commands/pay.js')).payCommand,
  },
  {
    name: 'send',
    summary: 'pay ALGO or an asset from an account of the daemon',
    load: async () => (await import('./commands/send.js')).sendCommand,
  },
  {
    name: 'opt-in',
    summary: 'let an account hold an asset',
    load: async () => (await import('./commands/opt-in.js')).optInCommand,
  },
  {
    name: 'opt-out',
    summary: 'end that an account can hold an asset',
    load: async () => (await import('./commands/opt-out.js')).optOutCommand,
  },
  {
    name: 'fund',
    summary: 'get ALGO and dollars from the faucet of a devnet',
    load: async () => (await import('./commands/fund.js')).fundCommand,
  },
  {
    name: 'balance',
    summary: 'show what accounts hold, and how much of it can be spent',
    load: async () => (await import('./commands/balance.js')).balanceCommand,
  },
  {
    name: 'tx',
    summary: 'say what became of a transaction',
    load: async () => (await import('./commands/tx.js')).txCommand,
  },
  {
    name: 'sales',
    summary: 'show what a shop earned, by route, from its file of claims',
    load: async () => (await import('./commands/sales.js')).salesCommand,
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
    summary: 'show or check the recovery mnemonic of a wallet',
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
    summary: 'change the password of a wallet',
    load: async () => (await import('./commands/wallet/password.js')).walletPasswordCommand,
  },
  {
    name: 'wallet delete',
    summary: 'remove a wallet from the daemon; its file is kept',
    load: async () => (await import('./commands/wallet/delete.js')).walletDeleteCommand,
  },
  {
    name: 'key new',
    summary: 'generate keys',
    load: async () => (await import('./commands/key/new.js')).keyNewCommand,
  },
  {
    name: 'key list',
    summary: 'list the keys of a wallet and their balances',
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
    summary: 'list the multisig accounts of a wallet',
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
    summary: 'give an address a label',
    load: async () => (await import('./commands/contact/add.js')).contactAddCommand,
  },
  {
    name: 'contact list',
    summary: 'list the address book',
    load: async () => (await import('./commands/contact/list.js')).contactListCommand,
  },
  {
    name: 'contact delete',
    summary: 'take the label of an address away',
    load: async () => (await import('./commands/contact/delete.js')).contactDeleteCommand,
  },
  {
    name: 'agent new',
    summary: 'let a program spend from a key, within limits',
    load: async () => (await import('./commands/agent/new.js')).agentNewCommand,
  },
  {
    name: 'agent list',
    summary: 'list the agents',
    load: async () => (await import('./commands/agent/list.js')).agentListCommand,
  },
  {
    name: 'agent show',
    summary: 'show the rules of an agent, and what is left of each limit',
    load: async () => (await import('./commands/agent/show.js')).agentShowCommand,
  },
  {
    name: 'agent limit',
    summary: 'change the limits and other rules of an agent',
    load: async () => (await import('./commands/agent/limit.js')).agentLimitCommand,
  },
  {
    name: 'agent test',
    summary: 'say which rule of an agent would decide about a transaction',
    load: async () => (await import('./commands/agent/test.js')).agentTestCommand,
  },
  {
    name: 'agent pause',
    summary: 'keep an agent from signing for now',
    load: async () => (await import('./commands/agent/state.js')).agentPauseCommand,
  },
  {
    name: 'agent resume',
    summary: 'let a paused or suspended agent sign again',
    load: async () => (await import('./commands/agent/state.js')).agentResumeCommand,
  },
  {
    name: 'agent confirm',
    summary: 'let agents sign again that are suspended since the state database was rolled back',
    load: async () => (await import('./commands/agent/confirm.js')).agentConfirmCommand,
  },
  {
    name: 'agent rotate',
    summary: 'give an agent another token; the old one ends',
    load: async () => (await import('./commands/agent/state.js')).agentRotateCommand,
  },
  {
    name: 'agent revoke',
    summary: 'end an agent for good',
    load: async () => (await import('./commands/agent/state.js')).agentRevokeCommand,
  },
  {
    name: 'approvals list',
    summary: 'list the payments of agents that wait for your approval',
    load: async () => (await import('./commands/approvals/list.js')).approvalsListCommand,
  },
  {
    name: 'approvals watch',
    summary: 'show payments that need your approval as they come, and decide',
    load: async () => (await import('./commands/approvals/watch.js')).approvalsWatchCommand,
  },
  {
    name: 'approvals approve',
    summary: 'let an agent sign one payment',
    load: async () => (await import('./commands/approvals/decide.js')).approvalsApproveCommand,
  },
  {
    name: 'approvals deny',
    summary: 'refuse one payment of an agent',
    load: async () => (await import('./commands/approvals/decide.js')).approvalsDenyCommand,
  },
  {
    name: 'mcp',
    summary: 'run an MCP server with which a model pays, within the limits of an agent',
    load: async () => (await import('./commands/mcp.js')).mcpCommand,
  },
  {
    name: 'mcp install',
    summary: 'print or write the settings with which a client starts the MCP server',
    load: async () => (await import('./commands/mcp/install.js')).mcpInstallCommand,
  },
  {
    name: 'sign',
    summary: 'describe a transaction, ask for confirmation, and sign it with a key of the daemon',
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
    summary: 'show the settings of the key daemon and of the commands, and where each comes from',
    load: async () => (await import('./commands/config/show.js')).configShowCommand,
  },
  {
    name: 'service install',
    summary: 'let systemd or launchd run the key daemon for this user',
    load: async () => (await import('./commands/service/install.js')).serviceInstallCommand,
  },
  {
    name: 'service uninstall',
    summary: 'stop the service of the key daemon and remove its file',
    load: async () => (await import('./commands/service/uninstall.js')).serviceUninstallCommand,
  },
  {
    name: 'service status',
    summary: 'say whether the service of the key daemon is installed and runs',
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
    summary: 'find records of the audit log',
    load: async () => (await import('./commands/audit/search.js')).auditSearchCommand,
  },
  {
    name: 'audit export',
    summary: 'write the audit log as JSON lines or CSV',
    load: async () => (await import('./commands/audit/export.js')).auditExportCommand,
  },
  {
    name: 'audit verify',
    summary: 'check that nothing in the audit log was changed',
    load: async () => (await import('./commands/audit/verify.js')).auditVerifyCommand,
  },
  {
    name: 'audit anchor',
    summary: 'write the hash of the audit log into a ledger',
    load: async () => (await import('./commands/audit/anchor.js')).auditAnchorCommand,
  },
  {
    name: 'token rotate',
    summary: 'replace the API token of the key daemon',
    load: async () => (await import('./commands/token/rotate.js')).tokenRotateCommand,
  },
  {
    name: 'token metrics',
    summary: 'create a token with which Prometheus reads the metrics',
    load: async () => (await import('./commands/token/metrics.js')).tokenMetricsCommand,
  },
]
