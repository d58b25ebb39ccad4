/** Every command of `latchkey`, in the order in which the help lists them. */
import type { Command } from './Command.js'

/** Loaded when it is called for: nobody waits for the key daemon's modules in order to start a devnet. */
export type Entry = { readonly name: string; readonly about: string; readonly load: () => Promise<Command> }

export const registry: readonly Entry[] = [
  {
    name: 'dev',
    about: 'run all of it for development, with one paid request to begin with',
    load: async () => (await import('./commands/dev.js')).devCommand,
  },
  { name: 'kmd', about: 'run the key daemon', load: async () => (await import('./commands/kmd.js')).kmdCommand },
  {
    name: 'devnet',
    about: 'run an Algorand ledger for development, with funded accounts',
    load: async () => (await import('./commands/devnet.js')).devnetCommand,
  },
  {
    name: 'facilitator',
    about: 'run an x402 facilitator: verify and settle payments',
    load: async () => (await import('./commands/facilitator.js')).facilitatorCommand,
  },
  {
    name: 'pay',
    about: 'ask for an address, pay what it costs within limits, print the answer',
    load: async () => (await import('./commands/pay.js')).payCommand,
  },
  {
    name: 'wallet new',
    about: 'make a wallet',
    load: async () => (await import('./commands/wallet/new.js')).walletNewCommand,
  },
  {
    name: 'wallet list',
    about: 'list the wallets',
    load: async () => (await import('./commands/wallet/list.js')).walletListCommand,
  },
  {
    name: 'wallet backup',
    about: 'show or check the 25 words that bring back a wallet',
    load: async () => (await import('./commands/wallet/backup.js')).walletBackupCommand,
  },
  {
    name: 'wallet recover',
    about: 'make a wallet from the 25 words of a backup',
    load: async () => (await import('./commands/wallet/recover.js')).walletRecoverCommand,
  },
  {
    name: 'wallet rename',
    about: 'give a wallet another name',
    load: async () => (await import('./commands/wallet/rename.js')).walletRenameCommand,
  },
  {
    name: 'wallet password',
    about: 'change the password of a wallet',
    load: async () => (await import('./commands/wallet/password.js')).walletPasswordCommand,
  },
  {
    name: 'wallet delete',
    about: 'take a wallet out of the daemon; its file stays',
    load: async () => (await import('./commands/wallet/delete.js')).walletDeleteCommand,
  },
  {
    name: 'key new',
    about: 'generate keys',
    load: async () => (await import('./commands/key/new.js')).keyNewCommand,
  },
  {
    name: 'key list',
    about: 'list the keys of a wallet, and what they hold',
    load: async () => (await import('./commands/key/list.js')).keyListCommand,
  },
  {
    name: 'key import',
    about: 'put a key into a wallet',
    load: async () => (await import('./commands/key/import.js')).keyImportCommand,
  },
  {
    name: 'key export',
    about: 'show a private key',
    load: async () => (await import('./commands/key/export.js')).keyExportCommand,
  },
  {
    name: 'key delete',
    about: 'delete a key',
    load: async () => (await import('./commands/key/delete.js')).keyDeleteCommand,
  },
  {
    name: 'multisig new',
    about: 'make an account that several keys sign for',
    load: async () => (await import('./commands/multisig/new.js')).multisigNewCommand,
  },
  {
    name: 'multisig list',
    about: 'list the multisig accounts of a wallet',
    load: async () => (await import('./commands/multisig/list.js')).multisigListCommand,
  },
  {
    name: 'multisig show',
    about: 'show what a multisig account is made of',
    load: async () => (await import('./commands/multisig/show.js')).multisigShowCommand,
  },
  {
    name: 'multisig delete',
    about: 'delete a multisig account from a wallet',
    load: async () => (await import('./commands/multisig/delete.js')).multisigDeleteCommand,
  },
  {
    name: 'sign',
    about: 'tell in words what a transaction does, ask, and sign it with a key of the daemon',
    load: async () => (await import('./commands/sign.js')).signCommand,
  },
  {
    name: 'console',
    about: "print a link to the daemon's page that works once",
    load: async () => (await import('./commands/console.js')).consoleCommand,
  },
  {
    name: 'doctor',
    about: 'look at everything that has to be in order, and tell the cure for what is not',
    load: async () => (await import('./commands/doctor.js')).doctorCommand,
  },
  {
    name: 'completions',
    about: 'print a script that completes the command line',
    load: async () => (await import('./commands/completions.js')).completionsCommand,
  },
  {
    name: 'token rotate',
    about: 'replace the API token of the key daemon',
    load: async () => (await import('./commands/token.js')).tokenCommand,
  },
]
