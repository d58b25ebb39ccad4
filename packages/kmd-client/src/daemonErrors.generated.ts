// Written by scripts/generate-client.mjs from the daemon. Do not edit it; run `npm run generate`.

/** Every error code of the daemon. The messages are the texts that it sends, unless a text has details of its own. */
export const daemonErrors = {
  invalid_token: {
    message: 'invalid API token',
    hint: 'The message of the daemon says what is wrong.',
  },
  forbidden_host: {
    message: 'this Host is not served; use the address in kmd.net, or add the name to allowed_hosts in kmd_config.json',
    hint: 'The message of the daemon says what is wrong.',
  },
  console_refused: {
    message: 'the console may not do this; use the command line',
    hint: 'The message of the daemon says what is wrong.',
  },
  console_not_local: {
    message: 'the console is for browsers on the machine of the daemon only; open it there, by 127.0.0.1 or localhost',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_ticket: {
    message: 'this link to the console was used already or is too old; run: latchkey console',
    hint: 'The message of the daemon says what is wrong.',
  },
  not_found: {
    message: 'no such path; GET /swagger.json lists them',
    hint: 'The message of the daemon says what is wrong.',
  },
  method_not_allowed: {
    message: 'this path exists, but not with this method; GET /swagger.json lists them',
    hint: 'The message of the daemon says what is wrong.',
  },
  body_too_large: {
    message: 'request body too large, must be <= 1048576 bytes',
    hint: 'The message of the daemon says what is wrong.',
  },
  body_timeout: {
    message: 'the request body did not arrive in time',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_body: {
    message: 'could not decode request body',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_address: {
    message: 'could not decode address',
    hint: 'The message of the daemon says what is wrong.',
  },
  too_many_addresses: {
    message: 'too many addresses, must be <= 100',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_transaction_id: {
    message: 'could not decode transaction id',
    hint: 'The message of the daemon says what is wrong.',
  },
  too_many_transaction_ids: {
    message: 'too many transaction ids, must be <= 50',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_transaction: {
    message: 'could not decode transaction',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_master_key_length: {
    message: 'master_derivation_key must be 32 bytes, or absent for a random one',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_private_key_length: {
    message: 'private_key must be 64 bytes (seed, then public key) or the 32 bytes of the seed',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_private_key_halves: {
    message: 'private_key is damaged: its public half does not belong to its seed',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_public_key_length: {
    message: 'each public key must be 32 bytes',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_signature_length: {
    message: 'each signature in partial_multisig must be 64 bytes, or absent',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_signer_length: {
    message: 'signer must be 32 bytes, or absent',
    hint: 'The message of the daemon says what is wrong.',
  },
  unknown_driver: {
    message: 'unknown wallet driver',
    hint: 'The message of the daemon says what is wrong.',
  },
  name_too_long: {
    message: 'wallet name too long, must be <= 64 bytes',
    hint: 'The message of the daemon says what is wrong.',
  },
  name_blank: {
    message: 'wallet name must not be blank',
    hint: 'The message of the daemon says what is wrong.',
  },
  name_taken: {
    message: 'wallet with same name already exists',
    hint: 'The message of the daemon says what is wrong.',
  },
  wallet_not_found: {
    message: 'wallet not found',
    hint: 'The message of the daemon says what is wrong.',
  },
  wallet_id_ambiguous: {
    message: 'multiple wallets with the same ID exist. cannot continue',
    hint: 'The message of the daemon says what is wrong.',
  },
  wrong_password: {
    message: 'error decrypting. wrong password?',
    hint: 'The message of the daemon says what is wrong.',
  },
  too_many_wrong_passwords: {
    message: 'too many wrong passwords for this wallet; wait as Retry-After says, then try the right one',
    hint: 'The message of the daemon says what is wrong.',
  },
  derivation_busy: {
    message: 'too many wallets are being unlocked at once; try again as Retry-After says',
    hint: 'The message of the daemon says what is wrong.',
  },
  too_many_handles: {
    message: 'too many wallet handles are open; release some, or wait until they expire',
    hint: 'The message of the daemon says what is wrong.',
  },
  stopping: {
    message: 'the daemon is stopping',
    hint: 'The message of the daemon says what is wrong.',
  },
  wrong_token_parts: {
    message: 'wrong number of token parts',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_handle_id: {
    message: 'invalid wallet handle id',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_handle_secret: {
    message: 'invalid wallet handle secret',
    hint: 'The message of the daemon says what is wrong.',
  },
  handle_unknown: {
    message: 'handle does not exist',
    hint: 'The message of the daemon says what is wrong.',
  },
  handle_wrong_secret: {
    message: 'invalid token',
    hint: 'The message of the daemon says what is wrong.',
  },
  handle_expired: {
    message: 'handle expired',
    hint: 'The message of the daemon says what is wrong.',
  },
  cannot_display_mnemonic: {
    message: 'sqlite wallet driver cannot display mnemonics',
    hint: 'The message of the daemon says what is wrong.',
  },
  too_many_keys: {
    message: 'too many keys',
    hint: 'The message of the daemon says what is wrong.',
  },
  key_not_found: {
    message: 'key does not exist in this wallet',
    hint: 'The message of the daemon says what is wrong.',
  },
  key_exists: {
    message: 'key already exists in wallet',
    hint: 'The message of the daemon says what is wrong.',
  },
  multisig_not_found: {
    message: 'multisig information (pks, threshold) for address does not exist in this wallet',
    hint: 'The message of the daemon says what is wrong.',
  },
  multisig_version: {
    message: 'unknown version',
    hint: 'The message of the daemon says what is wrong.',
  },
  multisig_threshold: {
    message: 'Invalid threshold',
    hint: 'The message of the daemon says what is wrong.',
  },
  multisig_not_member: {
    message: 'Key does not exist',
    hint: 'The message of the daemon says what is wrong.',
  },
  multisig_wrong_preimage: {
    message: 'given multisig preimage hashes to neither Sender nor AuthAddr',
    hint: 'The message of the daemon says what is wrong.',
  },
  multisig_not_signer: {
    message: 'given key is not a possible signer for this multisig',
    hint: 'The message of the daemon says what is wrong.',
  },
  multisig_duplicate: {
    message: 'Invalid duplicates',
    hint: 'The message of the daemon says what is wrong.',
  },
  multisig_too_large: {
    message: 'a multisig of more than 255 members cannot sign',
    hint: 'The message of the daemon says what is wrong.',
  },
  key_mismatch: {
    message: 'derived public key mismatch, something fishy is going on with this wallet',
    hint: 'The message of the daemon says what is wrong.',
  },
  wrong_plaintext_type: {
    message: 'error decrypting, found the wrong type of data. something fishy is going on with this wallet',
    hint: 'The message of the daemon says what is wrong.',
  },
  damaged_blob: {
    message: 'msgpack decode error: a stored value of this wallet is damaged',
    hint: 'The message of the daemon says what is wrong.',
  },
  bad_scrypt_parameters: {
    message: 'scrypt lib could not derive key from password',
    hint: 'The message of the daemon says what is wrong.',
  },
  scrypt_ceiling: {
    message: 'this wallet asks for more scrypt work than the daemon allows',
    hint: 'The message of the daemon says what is wrong.',
  },
  database: {
    message: 'database error',
    hint: 'The message of the daemon says what is wrong.',
  },
  database_locked: {
    message: 'error connecting to database',
    hint: 'The message of the daemon says what is wrong.',
  },
  wrong_driver_name: {
    message: 'found database with wrong driver name in wallets dir',
    hint: 'The message of the daemon says what is wrong.',
  },
  wrong_driver_version: {
    message: 'found database with wrong driver version in wallets dir',
    hint: 'The message of the daemon says what is wrong.',
  },
  wallets_directory: {
    message: 'the wallets directory cannot be read',
    hint: 'The message of the daemon says what is wrong.',
  },
  not_supported: {
    message: 'operation not supported by wallet',
    hint: 'The message of the daemon says what is wrong.',
  },
  no_node: {
    message: 'no node is set: start the daemon with --node URL, or set "algod" in kmd_config.json',
    hint: 'The message of the daemon says what is wrong.',
  },
  node_failed: {
    message: 'the node did not answer as it should',
    hint: 'The message of the daemon says what is wrong.',
  },
  internal: {
    message: 'internal error; kmd.log has the details',
    hint: 'The message of the daemon says what is wrong.',
  },
} as const

/** A code that the daemon's error responses have. */
export type DaemonErrorCode = keyof typeof daemonErrors
