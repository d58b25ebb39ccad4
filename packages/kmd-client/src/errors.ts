/** The error codes of this package: the daemon's codes, and the client's own. */
import type { ErrorRegistry } from '@latchkey/algorand'
import { apiErrors, type Code } from '@latchkey/kmd-api'

/** A code that the daemon's error responses have. */
export type DaemonErrorCode = Code

/** The codes of failures detected by the client. */
export const clientErrors = {
  daemon_not_running: {
    message: 'no key daemon responds at the address, or none is running in the data directory',
    hint: 'Start the daemon, or check the address or the data directory. Nothing was sent.',
  },
  foreign_listener: {
    message: 'a program of another user listens at the address in kmd.net; nothing was sent',
    hint: 'Find out which program it is (ss -ltnp), then start the daemon again: it writes its address. If it is your daemon, its data directory must belong to its user.',
  },
  connection_lost: {
    message: 'the connection broke before the daemon responded',
    hint: 'Check that the daemon is running and, in a web page, that allowed_origins contains its origin. An operation that changes something may have taken effect: check before you repeat it.',
  },
  timeout: {
    message: 'the daemon did not respond in time',
    hint: 'Repeat the call, or raise timeoutMs. An operation that changes something may have taken effect: check before you repeat it.',
  },
  data_directory_unreadable: {
    message: 'the file kmd.net or kmd.token in the data directory cannot be read or is empty',
    hint: "Run as the daemon's user; try again if the daemon is just starting.",
  },
  data_directory_unsupported: {
    message: "this runtime cannot read a daemon's data directory",
    hint: 'Pass { address, token } to Kmd.connect instead of { dataDir }.',
  },
  invalid_response: {
    message: 'the response is not from a key daemon',
    hint: 'Check that a kmd listens at the address.',
  },
  response_too_large: {
    message: 'the response is longer than the limit',
    hint: 'Raise maxResponseBytes if you expect responses of this size.',
  },
  operation_not_supported: {
    message: 'the daemon does not have this operation, which only Latchkey has',
    hint: "Use Latchkey's daemon: the Go daemon does not have the operation.",
  },
  daemon_error: {
    message: 'the daemon returned an error that this client has no code for',
    hint: "Read the message and the status: both are the daemon's.",
  },
  invalid_argument: {
    message: 'an argument is not valid; nothing was sent',
    hint: 'Correct the argument that the message names.',
  },
  wallet_name_not_found: {
    message: 'wallet not found',
    hint: 'Use a name or an id that kmd.wallets.list() returns.',
  },
  wallet_name_ambiguous: {
    message: 'several wallets have this name',
    hint: 'Select the wallet by its id.',
  },
  password_required: {
    message: "the operation needs the wallet's password, which the client does not keep; nothing was sent",
    hint: 'Pass { password } with the call, or give unlock a function that returns the password.',
  },
  wallet_locked: {
    message: 'the handle has expired and there is no password to unlock the wallet with',
    hint: 'Unlock the wallet again, or give unlock a function that returns the password.',
  },
  multisig_incomplete: {
    message: 'the wallet has fewer keys of the multisig than its threshold',
    hint: 'Import the keys of more members, or sign for each member with wallet.signMultisigTransaction.',
  },
  wallet_released: {
    message: 'the wallet was released',
    hint: 'Unlock it again.',
  },
} as const satisfies ErrorRegistry

/** A code of a failure detected by the client. */
export type ClientErrorCode = keyof typeof clientErrors

/** Every code that a {@link KmdClientError} can have. */
export type KmdClientErrorCode = ClientErrorCode | DaemonErrorCode

/** Every error code of this package with its meaning and remedy: the daemon's codes and the client's own. */
export const errors: { readonly [Code in KmdClientErrorCode]: { readonly message: string; readonly hint: string } } = {
  ...apiErrors,
  ...clientErrors,
}

const daemonCodes = new Map<string, DaemonErrorCode>()
for (const [code, { message }] of Object.entries(apiErrors)) daemonCodes.set(message, code as DaemonErrorCode)

/**
 * The code of an error reported by the daemon. Latchkey's daemon sends the code in a header; the Go daemon sends only
 * the text, which is matched exactly.
 */
export function daemonErrorCode(header: string | undefined, message: string): KmdClientErrorCode {
  if (header !== undefined && Object.hasOwn(apiErrors, header)) return header as DaemonErrorCode
  return daemonCodes.get(message) ?? 'daemon_error'
}
