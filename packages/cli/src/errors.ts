/** All errors of the commands: a stable code, its meaning, what to do, and the exit code. */
import { type ErrorEntry, LatchkeyError, type LatchkeyErrorOptions } from '@latchkey/algorand/error'
import type { ExitCode } from './exitCodes.js'

type CommandErrorEntry = ErrorEntry & { readonly exit: ExitCode }

/** The error codes of the commands. */
export const errors = {
  unknown_command: { exit: 'usage', message: 'there is no such command', hint: 'latchkey --help lists them' },
  unknown_option: { exit: 'usage', message: 'the command has no such option', hint: '--help lists its options' },
  invalid_value: {
    exit: 'usage',
    message: 'an option or argument has a value that it does not take',
    hint: '--help says what it takes',
  },
  invalid_usage: {
    exit: 'usage',
    message: 'arguments are missing, too many, or exclude each other',
    hint: '--help shows the usage',
  },
  invalid_flag: {
    exit: 'usage',
    message: 'the command kmd was called with a flag that it does not take',
    hint: 'kmd --help lists its flags',
  },
  confirmation_required: {
    exit: 'usage',
    message: 'the command needs a confirmation, and there is no terminal to ask at',
    hint: 'give --yes',
  },
  declined: { exit: 'declined', message: 'the confirmation was declined', hint: 'run it again to confirm' },
  interrupted: { exit: 'interrupted', message: 'interrupted at a prompt', hint: 'run it again' },
  terminal_required: {
    exit: 'failed',
    message: 'there is no terminal to ask at',
    hint: 'run it in a terminal, or give the value by an option',
  },
  line_too_long: { exit: 'failed', message: 'the line typed at a prompt is too long', hint: 'type a shorter one' },
  daemon_not_running: {
    exit: 'unreachable',
    message: 'no key daemon runs in the data directory',
    hint: 'latchkey kmd starts one',
  },
  foreign_listener: {
    exit: 'unreachable',
    message: 'a program of another user listens at the address in kmd.net; nothing was sent to it',
    hint: 'start the daemon again: latchkey kmd; ss -ltnp shows which program listens',
  },
  daemon_unreachable: {
    exit: 'unreachable',
    message: 'the key daemon does not answer',
    hint: 'latchkey doctor looks for the reason',
  },
  daemon_already_running: {
    exit: 'running',
    message: 'a key daemon already runs in the data directory',
    hint: 'use that one, or stop it first',
  },
  daemon_not_started: {
    exit: 'failed',
    message: 'the key daemon could not start',
    hint: 'the message names the file or setting to correct',
  },
  daemon_busy: { exit: 'failed', message: 'the key daemon is busy', hint: 'try again in a moment' },
  daemon_error: {
    exit: 'failed',
    message: 'the key daemon refused the operation',
    hint: "the message is the daemon's own; kmd.log has more",
  },
  daemon_misbehaved: {
    exit: 'failed',
    message: 'the key daemon returned something other than what was requested; it was discarded',
    hint: 'check which program listens at the address in kmd.net',
  },
  stack_not_running: {
    exit: 'unreachable',
    message: 'no dev stack runs in the directory that LATCHKEY_STACK names',
    hint: 'latchkey dev starts one; unset LATCHKEY_STACK to find one that runs',
  },
  stack_already_running: {
    exit: 'running',
    message: 'a dev stack already runs in the directory',
    hint: 'use that one: the commands find it; or start another beside it with latchkey dev --ephemeral',
  },
  stack_unusable: {
    exit: 'failed',
    message: 'what an earlier dev stack left in the directory cannot be used',
    hint: 'latchkey dev --fresh starts over and keeps the old files in the directory previous',
  },
  agent_token_required: {
    exit: 'failed',
    message: "the command works with an agent's token only, and was given another one or none that is valid",
    hint: 'latchkey agent new NAME --token-file PATH writes one',
  },
  agent_refused: {
    exit: 'failed',
    message: 'the key daemon refused the agent',
    hint: 'the message names the rule; only the owner can change it',
  },
  token_refused: {
    exit: 'failed',
    message: 'the daemon does not accept the API token in kmd.token',
    hint: 'latchkey doctor looks for the reason',
  },
  data_directory_missing: {
    exit: 'failed',
    message: 'the data directory does not exist, or is not that of a key daemon',
    hint: 'start the daemon there first, or give --data-dir',
  },
  wrong_password: { exit: 'password', message: 'the password of the wallet is wrong', hint: 'give the right one' },
  too_many_wrong_passwords: {
    exit: 'password',
    message: 'too many wrong passwords were given for the wallet',
    hint: 'wait, then give the right one',
  },
  password_required: {
    exit: 'password',
    message: 'the command needs a password, and there is none and no terminal to ask at',
    hint: 'give --password-file or --password-fd',
  },
  password_blank: {
    exit: 'password',
    message: 'the password for a new wallet is blank',
    hint: 'give --no-password if a blank one is intended',
  },
  password_unreadable: {
    exit: 'password',
    message: 'the password file or descriptor cannot be read',
    hint: 'check its path and permissions',
  },
  wallet_not_found: { exit: 'failed', message: 'there is no such wallet', hint: 'latchkey wallet list shows them' },
  wallet_ambiguous: {
    exit: 'failed',
    message: 'several wallets have the name',
    hint: 'give the id that latchkey wallet list shows',
  },
  wallet_exists: { exit: 'failed', message: 'a wallet of that name exists', hint: 'choose another name' },
  key_not_found: { exit: 'failed', message: 'the wallet has no such key', hint: 'latchkey key list shows them' },
  contact_not_found: {
    exit: 'failed',
    message: 'the address book has no such contact',
    hint: 'latchkey contact list shows them',
  },
  agent_not_found: { exit: 'failed', message: 'there is no such agent', hint: 'latchkey agent list shows them' },
  agent_exists: {
    exit: 'failed',
    message: 'an agent of that name exists',
    hint: 'choose another name, or revoke the agent that has it',
  },
  agent_ended: {
    exit: 'failed',
    message: 'the agent has ended: it was revoked, has expired, or its key is gone',
    hint: 'latchkey agent new makes another',
  },
  invalid_agent: {
    exit: 'failed',
    message: 'the daemon does not take the agent or its rules',
    hint: 'the message says which part is wrong',
  },
  approval_not_found: {
    exit: 'failed',
    message: 'there is no such approval',
    hint: 'latchkey approvals list --all shows them',
  },
  approval_decided: {
    exit: 'failed',
    message: 'the payment was decided before, or its approval has expired',
    hint: 'latchkey approvals list --all shows how',
  },
  key_exists: { exit: 'failed', message: 'the wallet already has the key', hint: 'nothing needs to be done' },
  multisig_not_found: {
    exit: 'failed',
    message: 'the wallet has no such multisig account',
    hint: 'latchkey multisig list shows them',
  },
  multisig_exists: {
    exit: 'failed',
    message: 'the wallet already has the multisig account',
    hint: 'nothing needs to be done',
  },
  invalid_mnemonic: {
    exit: 'failed',
    message: 'the mnemonic is not valid',
    hint: 'the message names the words to correct',
  },
  mnemonic_mismatch: {
    exit: 'failed',
    message: 'the mnemonic is valid, but not of this wallet',
    hint: 'check which wallet it was written down for',
  },
  file_exists: { exit: 'failed', message: 'the output file exists and is not overwritten', hint: 'name another file' },
  file_unreadable: { exit: 'failed', message: 'a file cannot be read', hint: 'check its path and permissions' },
  file_unwritable: { exit: 'failed', message: 'a file cannot be written', hint: 'check its path and permissions' },
  invalid_file: {
    exit: 'failed',
    message: 'a file does not contain what the command expects',
    hint: 'the message says what is expected',
  },
  nothing_to_sign: {
    exit: 'failed',
    message: 'no key of the wallet signs for any of the transactions',
    hint: 'name the key with --key, or the multisig with --multisig and --member',
  },
  invalid_signature: {
    exit: 'failed',
    message: 'the file has a signature that is wrong, or of another account',
    hint: 'get the transaction again from the other signers',
  },
  balances_unavailable: {
    exit: 'failed',
    message: 'the balances cannot be read from the node',
    hint: 'check --network and --node',
  },
  asset_ambiguous: {
    exit: 'usage',
    message: 'the unit is that of several assets of the account',
    hint: "name the asset by its id, like '#1234'",
  },
  asset_not_found: {
    exit: 'failed',
    message: 'no asset is known by the unit',
    hint: "name the asset by its id, like '#1234'",
  },
  insufficient_algos: {
    exit: 'failed',
    message: 'the account has too few ALGOs beyond its minimum balance',
    hint: 'latchkey send sends it some; on a devnet latchkey fund does',
  },
  insufficient_asset: {
    exit: 'failed',
    message: 'the account has too little of the asset',
    hint: 'latchkey send sends it some; on a devnet latchkey fund does',
  },
  payer_not_opted_in: {
    exit: 'failed',
    message: 'the account is not opted in to the asset',
    hint: 'latchkey opt-in opts in',
  },
  receiver_not_opted_in: {
    exit: 'failed',
    message: 'the receiver is not opted in to the asset',
    hint: 'the holder of its key runs latchkey opt-in',
  },
  receiver_below_minimum: {
    exit: 'failed',
    message: 'the receiver would have less than its minimum balance',
    hint: 'send at least what the message names',
  },
  asset_frozen: {
    exit: 'failed',
    message: 'the asset is frozen in the account of the sender or of the receiver',
    hint: 'use another account, or ask the issuer of the asset',
  },
  holding_not_empty: {
    exit: 'failed',
    message: 'the account still holds some of the asset that it is to opt out of',
    hint: 'name the account that gets the rest with --to',
  },
  multisig_account: {
    exit: 'failed',
    message: 'the account is a multisig, for which several keys sign',
    hint: 'latchkey sign FILE --multisig ADDRESS --member ADDRESS --submit',
  },
  fee_too_high: {
    exit: 'failed',
    message: 'the network asks for a fee of more than 0.1 ALGO',
    hint: 'try again when it is less busy',
  },
  wrong_network: {
    exit: 'failed',
    message: 'the transaction is for another network than that of the node; nothing was signed',
    hint: 'give its network with --network',
  },
  not_submittable: {
    exit: 'failed',
    message: 'the transactions cannot be sent: signatures are missing, or they are not one group; nothing was signed',
    hint: 'sign without --submit, and pass them on to the other signers',
  },
  transaction_rejected: {
    exit: 'failed',
    message: 'the ledger rejects the transaction, or no node took it; nothing was sent',
    hint: 'the message says why',
  },
  transaction_expired: {
    exit: 'failed',
    message: 'the last valid round of the transaction has passed, and it is not in the ledger',
    hint: 'make a new one',
  },
  transaction_unknown: {
    exit: 'failed',
    message: 'neither the node nor an indexer knows the transaction',
    hint: 'check the id and --network; give an indexer with --indexer for older ones',
  },
  outcome_pending: {
    exit: 'pending',
    message: 'the transaction was sent, and whether it is confirmed is not known yet',
    hint: 'latchkey tx ID tells; to run the same command again sends the same transaction, not a new one',
  },
  outcome_unknown: {
    exit: 'pending',
    message: 'the same was sent before, and no node tells what became of it; nothing was sent now',
    hint: 'latchkey tx ID tells; --again sends another one',
  },
  indexer_unavailable: {
    exit: 'failed',
    message: 'the indexer does not answer, or not as an indexer does',
    hint: 'give another one with --indexer',
  },
  anchor_not_found: {
    exit: 'failed',
    message: 'the transaction is not in the ledger, or has no anchor of an audit log in its note',
    hint: 'check the id and --network; give an indexer with --indexer for older ones',
  },
  faucet_unavailable: {
    exit: 'failed',
    message: 'the network has no faucet that the command can use',
    hint: 'the message names the one for people, if there is one',
  },
  payment_impossible: {
    exit: 'failed',
    message: 'the buyer can pay none of the offers of the server',
    hint: 'the message says why for each of them',
  },
  response_lost: {
    exit: 'failed',
    message: 'a payment was sent and the response did not arrive',
    hint: 'run the same command again: it sends the same payment',
  },
  response_timeout: {
    exit: 'failed',
    message: 'the server sent nothing for as long as --timeout allows; nothing was paid',
    hint: 'try again, or raise --timeout',
  },
  response_incomplete: {
    exit: 'failed',
    message: 'the response broke off, or was cut off because it is longer than --max-bytes allows',
    hint: 'run it again, or raise --max-bytes',
  },
  database_unreachable: {
    exit: 'unreachable',
    message: 'the database of settlements does not answer',
    hint: 'check its address, and that the server runs',
  },
  database_login_failed: {
    exit: 'password',
    message: 'the database of settlements does not accept the role or its password',
    hint: 'check the user in the address, and PGPASSWORD',
  },
  database_not_migrated: {
    exit: 'migrationDue',
    message: 'migrations of the database are due, and this role may not run them',
    hint: 'run latchkey facilitator migrate with a role that owns the schema',
  },
  server_unreachable: {
    exit: 'unreachable',
    message: 'no server answers at the address of the request; nothing was paid',
    hint: 'check the address and the connection',
  },
  port_unavailable: {
    exit: 'failed',
    message: 'the command may not listen on the port, or this machine does not have the address',
    hint: 'give another with --port or --host',
  },
  service_unsupported: {
    exit: 'failed',
    message: 'this system has no service manager that is known',
    hint: 'latchkey kmd start runs the daemon in the background',
  },
  program_replaceable: {
    exit: 'failed',
    message: 'another user than root could replace the program that a service of the machine runs',
    hint: 'install Node and Latchkey for the machine as root, such as in /opt, or correct it: chown root, chmod go-w',
  },
  service_not_installed: {
    exit: 'unreachable',
    message: 'the service of the key daemon is not installed',
    hint: 'latchkey service install writes it',
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
