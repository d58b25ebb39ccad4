/** All errors of the commands: a stable code, its meaning, what to do, and the exit code. */
import { type ErrorEntry, LatchkeyError, type LatchkeyErrorOptions } from '@latchkey/algorand/error'
import type { ExitCode } from './exitCodes.js'

type CommandErrorEntry = ErrorEntry & { readonly exit: ExitCode }

/** The error codes of the commands. */
export const errors = {
  unknown_command: { exit: 'usage', message: 'unknown command', hint: 'list the commands with latchkey --help' },
  unknown_option: { exit: 'usage', message: 'unknown option', hint: 'list the options with --help' },
  invalid_value: {
    exit: 'usage',
    message: 'an option or argument has an invalid value',
    hint: 'see the valid values with --help',
  },
  invalid_usage: {
    exit: 'usage',
    message: 'arguments are missing, too many, or exclude each other',
    hint: 'see the usage with --help',
  },
  invalid_flag: {
    exit: 'usage',
    message: 'the command kmd was called with an unknown or invalid flag',
    hint: 'list the flags with kmd --help',
  },
  confirmation_required: {
    exit: 'usage',
    message: 'the command needs a confirmation, but stdin is not a terminal',
    hint: 'give --yes',
  },
  declined: { exit: 'declined', message: 'the confirmation was declined', hint: 'run the command again to confirm' },
  interrupted: { exit: 'interrupted', message: 'interrupted at a prompt', hint: 'run the command again' },
  terminal_required: {
    exit: 'failed',
    message: 'the command needs an answer, but stdin is not a terminal',
    hint: 'run the command in a terminal, or give the value with an option',
  },
  line_too_long: { exit: 'failed', message: 'the line typed at a prompt is too long', hint: 'type a shorter line' },
  daemon_not_running: {
    exit: 'unreachable',
    message: 'no key daemon is running in the data directory',
    hint: 'start one with latchkey kmd',
  },
  foreign_listener: {
    exit: 'unreachable',
    message: 'a program of another user listens at the address in kmd.net; nothing was sent to it',
    hint: 'restart the daemon with latchkey kmd; find the program with ss -ltnp',
  },
  daemon_unreachable: {
    exit: 'unreachable',
    message: 'the key daemon does not respond',
    hint: 'find the reason with latchkey doctor',
  },
  daemon_already_running: {
    exit: 'running',
    message: 'a key daemon is already running in the data directory',
    hint: 'use it, or stop it first with latchkey kmd stop; latchkey kmd status shows it',
  },
  daemon_not_started: {
    exit: 'failed',
    message: 'the key daemon could not start',
    hint: 'correct the file or setting that the message names',
  },
  daemon_busy: { exit: 'failed', message: 'the key daemon is busy', hint: 'try again in a moment' },
  daemon_error: {
    exit: 'failed',
    message: 'the key daemon refused the operation',
    hint: "see the daemon's message, and kmd.log for details",
  },
  daemon_misbehaved: {
    exit: 'failed',
    message: 'the key daemon returned an unexpected response, which was discarded',
    hint: 'check which program listens at the address in kmd.net',
  },
  stack_not_running: {
    exit: 'unreachable',
    message: 'no dev stack is running in the directory that LATCHKEY_STACK names',
    hint: 'start one with latchkey dev, or unset LATCHKEY_STACK to use any running stack',
  },
  stack_already_running: {
    exit: 'running',
    message: 'a dev stack is already running in the directory',
    hint: 'use it (the commands find it), or start another with latchkey dev --ephemeral',
  },
  stack_unusable: {
    exit: 'failed',
    message: "the previous dev stack's state cannot be used",
    hint: 'start over with latchkey dev --fresh, which moves the old files to the directory previous',
  },
  agent_token_required: {
    exit: 'failed',
    message: "the command requires a valid agent's token",
    hint: 'create one with latchkey agent new NAME --token-file PATH',
  },
  agent_refused: {
    exit: 'failed',
    message: 'the key daemon refused the agent',
    hint: 'ask the owner to change the rule that the message names',
  },
  token_refused: {
    exit: 'failed',
    message: 'the daemon does not accept the API token in kmd.token',
    hint: 'find the reason with latchkey doctor',
  },
  data_directory_missing: {
    exit: 'failed',
    message: 'the data directory does not exist, or does not belong to a key daemon',
    hint: 'start the daemon in that directory first, or give another with --data-dir',
  },
  wrong_password: { exit: 'password', message: 'wrong wallet password', hint: 'give the correct password' },
  too_many_wrong_passwords: {
    exit: 'password',
    message: 'too many wrong passwords were given for the wallet',
    hint: 'wait, then give the correct password',
  },
  password_required: {
    exit: 'password',
    message: 'the command needs a password: none was given, and stdin is not a terminal',
    hint: 'give --password-file or --password-fd',
  },
  password_blank: {
    exit: 'password',
    message: 'the password for a new wallet is blank',
    hint: 'give --no-password if a blank password is intended',
  },
  password_unreadable: {
    exit: 'password',
    message: 'the password file or descriptor cannot be read',
    hint: 'check its path and permissions',
  },
  wallet_not_found: { exit: 'failed', message: 'wallet not found', hint: 'list the wallets with latchkey wallet list' },
  wallet_ambiguous: {
    exit: 'failed',
    message: 'several wallets have this name',
    hint: "give the wallet's id from latchkey wallet list",
  },
  wallet_exists: { exit: 'failed', message: 'a wallet with this name already exists', hint: 'choose another name' },
  key_not_found: {
    exit: 'failed',
    message: 'key not found in the wallet',
    hint: 'list the keys with latchkey key list',
  },
  receipt_not_found: {
    exit: 'failed',
    message: 'receipt not found in the log of payments',
    hint: 'list the receipts with latchkey receipts list',
  },
  contact_not_found: {
    exit: 'failed',
    message: 'contact not found',
    hint: 'list the contacts with latchkey contact list',
  },
  agent_not_found: { exit: 'failed', message: 'agent not found', hint: 'list the agents with latchkey agent list' },
  agent_exists: {
    exit: 'failed',
    message: 'an agent with this name already exists',
    hint: 'choose another name, or revoke that agent',
  },
  agent_ended: {
    exit: 'failed',
    message: 'the agent has ended: it was revoked, it expired, or its key was deleted',
    hint: 'create another with latchkey agent new',
  },
  invalid_agent: {
    exit: 'failed',
    message: 'the agent or its rules are invalid',
    hint: 'correct the part that the message names',
  },
  approval_not_found: {
    exit: 'failed',
    message: 'approval not found',
    hint: 'list the approvals with latchkey approvals list --all',
  },
  approval_decided: {
    exit: 'failed',
    message: 'the approval was already decided or has expired',
    hint: 'see the decision with latchkey approvals list --all',
  },
  key_exists: { exit: 'failed', message: 'the wallet already has the key', hint: 'no action is needed' },
  multisig_not_found: {
    exit: 'failed',
    message: 'multisig account not found in the wallet',
    hint: 'list the multisig accounts with latchkey multisig list',
  },
  multisig_exists: {
    exit: 'failed',
    message: 'the wallet already has the multisig account',
    hint: 'no action is needed',
  },
  invalid_mnemonic: {
    exit: 'failed',
    message: 'the mnemonic is invalid',
    hint: 'correct the words that the message names',
  },
  mnemonic_mismatch: {
    exit: 'failed',
    message: 'the mnemonic is valid, but belongs to another wallet',
    hint: 'check to which wallet the mnemonic belongs',
  },
  file_exists: {
    exit: 'failed',
    message: 'the output file already exists and was not overwritten',
    hint: 'name another file',
  },
  file_unreadable: { exit: 'failed', message: 'a file cannot be read', hint: 'check its path and permissions' },
  file_unwritable: { exit: 'failed', message: 'a file cannot be written', hint: 'check its path and permissions' },
  invalid_file: {
    exit: 'failed',
    message: 'a file has unexpected content',
    hint: 'give a file of the kind that the message describes',
  },
  nothing_to_sign: {
    exit: 'failed',
    message: 'no key of the wallet signs for any of the transactions',
    hint: 'name the key with --key, or the multisig with --multisig and --member',
  },
  invalid_signature: {
    exit: 'failed',
    message: 'the file has an invalid signature, or one of another account',
    hint: 'get the transaction again from the other signers',
  },
  balances_unavailable: {
    exit: 'failed',
    message: 'the balances cannot be read from the node',
    hint: 'check --network and --node',
  },
  asset_ambiguous: {
    exit: 'usage',
    message: 'the unit matches several assets of the account',
    hint: "name the asset by its id, like '#1234'",
  },
  asset_not_found: {
    exit: 'failed',
    message: 'no asset with this unit was found',
    hint: "name the asset by its id, like '#1234'",
  },
  insufficient_algos: {
    exit: 'failed',
    message: 'the account has too few ALGOs beyond its minimum balance',
    hint: 'fund the account with latchkey send, or on a devnet with latchkey fund',
  },
  insufficient_asset: {
    exit: 'failed',
    message: 'the account has too little of the asset',
    hint: 'fund the account with latchkey send, or on a devnet with latchkey fund',
  },
  payer_not_opted_in: {
    exit: 'failed',
    message: 'the account is not opted in to the asset',
    hint: 'opt in with latchkey opt-in',
  },
  receiver_not_opted_in: {
    exit: 'failed',
    message: 'the receiver is not opted in to the asset',
    hint: 'ask the receiver to run latchkey opt-in',
  },
  receiver_below_minimum: {
    exit: 'failed',
    message: 'the receiver would have less than its minimum balance',
    hint: 'send at least the amount that the message names',
  },
  asset_frozen: {
    exit: 'failed',
    message: 'the asset is frozen in the account of the sender or of the receiver',
    hint: 'use another account, or ask the issuer of the asset',
  },
  holding_not_empty: {
    exit: 'failed',
    message: 'the account still holds units of the asset',
    hint: 'name the account that receives the rest with --to',
  },
  multisig_account: {
    exit: 'failed',
    message: 'the account is a multisig account, which needs several signatures',
    hint: 'sign with latchkey sign FILE --multisig ADDRESS --member ADDRESS --submit',
  },
  fee_too_high: {
    exit: 'failed',
    message: "the network's fee is above 0.1 ALGO",
    hint: 'try again when the network is less busy',
  },
  wrong_network: {
    exit: 'failed',
    message: "the transaction is for a different network than the node's; nothing was signed",
    hint: "give the transaction's network with --network",
  },
  not_submittable: {
    exit: 'failed',
    message:
      'the transactions cannot be sent: signatures are missing, or the transactions are not one group; nothing was signed',
    hint: 'sign without --submit, and pass them on to the other signers',
  },
  transaction_rejected: {
    exit: 'failed',
    message: 'the ledger rejected the transaction, or no node accepted it; nothing was sent',
    hint: 'correct the problem that the message names',
  },
  transaction_expired: {
    exit: 'failed',
    message: 'the last valid round of the transaction has passed, and it is not in the ledger',
    hint: 'make a new transaction',
  },
  transaction_unknown: {
    exit: 'failed',
    message: 'transaction not found on the node or an indexer',
    hint: 'check the id and --network; for older transactions, give an indexer with --indexer',
  },
  outcome_pending: {
    exit: 'pending',
    message: 'the transaction was sent, but is not confirmed yet',
    hint: 'check it with latchkey tx ID; running the same command again sends the same transaction, not a new one',
  },
  outcome_unknown: {
    exit: 'pending',
    message: 'the same transaction was sent before, and its outcome is unknown; nothing was sent now',
    hint: 'check it with latchkey tx ID; to send another transaction, give --again',
  },
  indexer_unavailable: {
    exit: 'failed',
    message: 'the indexer does not respond, or its response is invalid',
    hint: 'give another indexer with --indexer',
  },
  anchor_not_found: {
    exit: 'failed',
    message: 'the transaction is not in the ledger, or its note contains no audit log anchor',
    hint: 'check the id and --network; for older transactions, give an indexer with --indexer',
  },
  faucet_unavailable: {
    exit: 'failed',
    message: 'the network has no faucet for this command',
    hint: 'use the faucet page that the message names, if any',
  },
  payment_impossible: {
    exit: 'failed',
    message: "the buyer cannot pay any of the server's offers",
    hint: 'see the reason for each offer in the message',
  },
  response_lost: {
    exit: 'failed',
    message: 'a payment was sent, but no response arrived',
    hint: 'run the same command again; it sends the same payment',
  },
  response_timeout: {
    exit: 'failed',
    message: 'the server sent no data within --timeout; nothing was paid',
    hint: 'try again, or raise --timeout',
  },
  response_incomplete: {
    exit: 'failed',
    message: 'the response ended early, or is larger than --max-bytes',
    hint: 'run the command again, or raise --max-bytes',
  },
  database_unreachable: {
    exit: 'unreachable',
    message: 'the settlement database does not respond',
    hint: 'check its address, and that the server runs',
  },
  database_login_failed: {
    exit: 'password',
    message: 'the settlement database rejected the role or its password',
    hint: 'check the user in the address, and PGPASSWORD',
  },
  database_not_migrated: {
    exit: 'migrationDue',
    message: 'database migrations are due, and this role may not run them',
    hint: 'run latchkey facilitator migrate with a role that owns the schema',
  },
  server_unreachable: {
    exit: 'unreachable',
    message: 'no server responds at the URL; nothing was paid',
    hint: 'check the address and the connection',
  },
  port_unavailable: {
    exit: 'failed',
    message: 'listening on the port is not permitted, or this machine does not have the address',
    hint: 'give another with --port or --host',
  },
  service_unsupported: {
    exit: 'failed',
    message: 'this system has no supported service manager',
    hint: 'run the daemon in the background with latchkey kmd start',
  },
  program_replaceable: {
    exit: 'failed',
    message: 'a user other than root could replace the program that the system service runs',
    hint: 'install Node and Latchkey as root, such as in /opt, or correct the file: chown root, chmod go-w',
  },
  service_not_installed: {
    exit: 'unreachable',
    message: "the key daemon's service is not installed",
    hint: 'install it with latchkey service install',
  },
  port_in_use: { exit: 'failed', message: 'the port is in use', hint: 'give another with --port, or 0 for a free one' },
  program_not_started: {
    exit: 'failed',
    message: 'the program after -- could not be started',
    hint: 'check its name and PATH',
  },
} as const satisfies { readonly [code: string]: CommandErrorEntry }

export type CommandErrorCode = keyof typeof errors
type UsageErrorCode = {
  [C in CommandErrorCode]: (typeof errors)[C]['exit'] extends 'usage' ? C : never
}[CommandErrorCode]

/** A command failed. Its code decides the exit code. */
export class CommandError extends LatchkeyError<CommandErrorCode> {
  override name = 'CommandError'

  get exit(): ExitCode {
    return errors[this.code].exit
  }
}

/** The arguments of a command are invalid. A pointer to the help follows the message. */
export class UsageError extends CommandError {
  override name = 'UsageError'

  constructor(message: string, options: LatchkeyErrorOptions & { code?: UsageErrorCode } = {}) {
    super(options.code ?? 'invalid_usage', message, options)
  }
}
