/** The error codes of each operation, and their statuses. */
import { apiErrors, type Code } from './apiErrors.js'
import type { Description } from './Description.js'
import type { Operation } from './operations.js'

/** Failures of the wallet, not of the request. */
const walletFailures: ReadonlySet<Code> = new Set<Code>([
  'wrong_password',
  'key_not_found',
  'key_exists',
  'key_mismatch',
  'multisig_not_found',
  'wrong_plaintext_type',
  'damaged_blob',
  'bad_scrypt_parameters',
  'scrypt_ceiling',
  'database',
  'database_locked',
  'wrong_driver_name',
  'wrong_driver_version',
  'wallets_directory',
  'too_many_keys',
])

/** Errors of any request. */
export const requestErrors: readonly Code[] = [
  'invalid_token',
  'forbidden_host',
  'not_found',
  'method_not_allowed',
  'internal',
]

/** Errors of any request with a body. */
export const bodyErrors: readonly Code[] = ['bad_body', 'body_too_large', 'body_no_room', 'body_timeout']

/** Errors of any request with a handle. */
export const handleErrors: readonly Code[] = [
  'wrong_token_parts',
  'bad_handle_id',
  'bad_handle_secret',
  'handle_unknown',
  'handle_wrong_secret',
  'handle_expired',
]

/** Errors of any request that opens a wallet file. Their status differs by operation. */
export const walletFileErrors: readonly Code[] = [
  'wrong_plaintext_type',
  'damaged_blob',
  'database',
  'database_locked',
  'wrong_driver_name',
  'wrong_driver_version',
]

const errorsByField: { readonly [field: string]: readonly Code[] } = {
  wallet_password: ['wrong_password', 'too_many_wrong_passwords'],
  wallet_id: ['wallet_not_found', 'wallet_id_ambiguous', 'derivation_busy', 'scrypt_ceiling'],
  address: ['bad_address'],
  transaction: ['bad_transaction'],
}

/** The errors in addition to the general errors of requests, bodies, handles and wallet files. */
export function errorsOf({ id, request, errors = [] }: Operation): readonly Code[] {
  const byField = request
    // The password of a new wallet cannot be wrong.
    .filter(({ name, ignored }) => !ignored && !(id === 'CreateWallet' && name === 'wallet_password'))
    .flatMap(({ name }) => errorsByField[name] ?? [])
  return [...new Set([...byField, ...errors])]
}

/** The status that an operation sends for an error. */
export function statusOf({ walletFailure }: Pick<Description, 'walletFailure'>, code: Code): number {
  const { status } = apiErrors[code]
  return walletFailures.has(code) ? (walletFailure ?? status) : status
}
