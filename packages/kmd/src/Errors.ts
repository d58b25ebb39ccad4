/**
 * Every error the daemon answers with: a code for programs and logs, a usual status, and the text.
 *
 * Texts of errors that the Go daemon knows are its own, letter for letter, because clients match on some of them.
 * The status is the usual one: an operation may answer a wallet's failure with another (see `Operations`).
 */
export const registry = {
  invalidToken: [401, 'invalid API token'],
  forbiddenHost: [
    403,
    'this Host is not served; use the address in kmd.net, or add the name to allowed_hosts in kmd_config.json',
  ],
  consoleRefused: [403, 'the console may not do this; use the command line'],
  consoleNotLocal: [
    403,
    'the console is for browsers on the machine of the daemon only; open it there, by 127.0.0.1 or localhost',
  ],
  badTicket: [401, 'this link to the console was used already or is too old; run: latchkey console'],
  notFound: [404, 'no such path; GET /swagger.json lists them'],
  methodNotAllowed: [405, 'this path exists, but not with this method; GET /swagger.json lists them'],
  bodyTooLarge: [413, 'request body too large, must be <= 1048576 bytes'],
  bodyTimeout: [408, 'the request body did not arrive in time'],
  badBody: [400, 'could not decode request body'],
  badAddress: [400, 'could not decode address'],
  tooManyAddresses: [400, 'too many addresses, must be <= 100'],
  badTransactionId: [400, 'could not decode transaction id'],
  tooManyTransactionIds: [400, 'too many transaction ids, must be <= 50'],
  badTransaction: [400, 'could not decode transaction'],
  badMasterKeyLength: [400, 'master_derivation_key must be 32 bytes, or absent for a random one'],
  badPrivateKeyLength: [400, 'private_key must be 64 bytes (seed, then public key) or the 32 bytes of the seed'],
  badPrivateKeyHalves: [400, 'private_key is damaged: its public half does not belong to its seed'],
  badPublicKeyLength: [400, 'each public key must be 32 bytes'],
  badSignatureLength: [400, 'each signature in partial_multisig must be 64 bytes, or absent'],
  badSignerLength: [400, 'signer must be 32 bytes, or absent'],
  unknownDriver: [400, 'unknown wallet driver'],
  nameTooLong: [400, 'wallet name too long, must be <= 64 bytes'],
  nameBlank: [400, 'wallet name must not be blank'],
  nameTaken: [400, 'wallet with same name already exists'],
  walletNotFound: [400, 'wallet not found'],
  walletIdAmbiguous: [400, 'multiple wallets with the same ID exist. cannot continue'],
  wrongPassword: [400, 'error decrypting. wrong password?'],
  tooManyWrongPasswords: [
    429,
    'too many wrong passwords for this wallet; wait as Retry-After says, then try the right one',
  ],
  derivationBusy: [503, 'too many wallets are being unlocked at once; try again as Retry-After says'],
  tooManyHandles: [503, 'too many wallet handles are open; release some, or wait until they expire'],
  stopping: [503, 'the daemon is stopping'],
  wrongTokenParts: [401, 'wrong number of token parts'],
  badHandleId: [401, 'invalid wallet handle id'],
  badHandleSecret: [401, 'invalid wallet handle secret'],
  handleUnknown: [401, 'handle does not exist'],
  handleWrongSecret: [401, 'invalid token'],
  handleExpired: [401, 'handle expired'],
  cannotDisplayMnemonic: [400, 'sqlite wallet driver cannot display mnemonics'],
  tooManyKeys: [500, 'too many keys'],
  keyNotFound: [400, 'key does not exist in this wallet'],
  keyExists: [400, 'key already exists in wallet'],
  multisigNotFound: [400, 'multisig information (pks, threshold) for address does not exist in this wallet'],
  multisigVersion: [400, 'unknown version'],
  multisigThreshold: [400, 'Invalid threshold'],
  multisigNotMember: [400, 'Key does not exist'],
  multisigWrongPreimage: [400, 'given multisig preimage hashes to neither Sender nor AuthAddr'],
  multisigNotSigner: [400, 'given key is not a possible signer for this multisig'],
  multisigDuplicate: [400, 'Invalid duplicates'],
  multisigTooLarge: [400, 'a multisig of more than 255 members cannot sign'],
  keyMismatch: [400, 'derived public key mismatch, something fishy is going on with this wallet'],
  wrongPlaintextType: [
    400,
    'error decrypting, found the wrong type of data. something fishy is going on with this wallet',
  ],
  damagedBlob: [400, 'msgpack decode error: a stored value of this wallet is damaged'],
  badScryptParameters: [400, 'scrypt lib could not derive key from password'],
  scryptCeiling: [400, 'this wallet asks for more scrypt work than the daemon allows'],
  database: [500, 'database error'],
  databaseLocked: [500, 'error connecting to database'],
  wrongDriverName: [500, 'found database with wrong driver name in wallets dir'],
  wrongDriverVersion: [500, 'found database with wrong driver version in wallets dir'],
  walletsDirectory: [500, 'the wallets directory cannot be read'],
  notSupported: [400, 'operation not supported by wallet'],
  noNode: [503, 'no node is set: start the daemon with --node URL, or set "algod" in kmd_config.json'],
  nodeFailed: [503, 'the node did not answer as it should'],
  internal: [500, 'internal error; kmd.log has the details'],
} as const satisfies Record<string, readonly [status: number, message: string]>

export type Code = keyof typeof registry

export type KmdErrorOptions = {
  /** Overrides the registry's text, where the text carries details (an operating system's message, say). */
  message?: string
  retryAfterSeconds?: number
  cause?: unknown
}

/** A failure that has an answer of its own. Anything else that is thrown is a defect and answered with 500. */
export class KmdError extends Error {
  override readonly name = 'KmdError'
  readonly code: Code
  readonly status: number
  readonly retryAfterSeconds: number | undefined

  constructor(code: Code, options: KmdErrorOptions = {}) {
    super(options.message ?? registry[code][1], options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = registry[code][0]
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}
