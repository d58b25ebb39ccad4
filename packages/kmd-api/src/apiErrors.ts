/** The error responses of the daemon. */
import type { ErrorEntry } from '@latchkey/algorand'
import { agentErrors } from './agentErrors.js'

/**
 * Error responses by code. The message is the text on the wire. If the Go daemon has the error, it is the Go daemon's
 * exact text, because clients match on some of them. An operation may send another status for failures of a wallet (see
 * `Description.walletFailure`).
 */
export const apiErrors = {
  // The request
  invalid_token: {
    status: 401,
    message: 'invalid API token',
    hint: 'send the first line of kmd.token in the header X-KMD-API-Token',
  },
  forbidden_host: {
    status: 403,
    message: 'this Host is not served; use the address in kmd.net, or add the name to allowed_hosts in kmd_config.json',
    hint: 'call the daemon by the address in kmd.net, or name the host in allowed_hosts',
  },
  console_refused: {
    status: 403,
    message: 'the console may not do this; use the command line',
    hint: 'do it with latchkey, or with the API token: a session of the console can neither export nor delete keys',
  },
  forbidden_user: {
    status: 403,
    message: 'this user may not use the socket, or cannot be determined',
    hint: 'add the number of the user to unix_socket_uids in kmd_config.json',
  },
  console_not_local: {
    status: 403,
    message: 'the console is for browsers on the machine of the daemon only; open it there, by 127.0.0.1 or localhost',
    hint: 'open the console on the machine where the daemon runs; from another one, through a tunnel to its port',
  },
  bad_ticket: {
    status: 401,
    message: 'this link to the console was used already or is too old; run: latchkey console',
    hint: 'ask for another link: each works once, within a minute',
  },
  not_found: {
    status: 404,
    message: 'no such path; GET /swagger.json lists them',
    hint: 'check the path against /swagger.json; there is no trailing slash',
  },
  method_not_allowed: {
    status: 405,
    message: 'this path exists, but not with this method; GET /swagger.json lists them',
    hint: 'use a method that the Allow header names',
  },
  body_too_large: {
    status: 413,
    message: 'request body too large, must be <= 1048576 bytes',
    hint: 'send less; split what you sign into several requests',
  },
  body_timeout: {
    status: 408,
    message: 'the request body did not arrive in time',
    hint: 'send the body together with the headers, and look for what holds it up',
  },
  bad_body: {
    status: 400,
    message: 'could not decode request body',
    hint: 'send one JSON object that has only the members of this operation, each of its type',
  },
  bad_address: {
    status: 400,
    message: 'could not decode address',
    hint: 'send the 58 characters of an address as they are shown, in upper case',
  },
  too_many_addresses: { status: 400, message: 'too many addresses, must be <= 100', hint: 'ask in several requests' },
  bad_transaction_id: {
    status: 400,
    message: 'could not decode transaction id',
    hint: 'send the 52 characters of a transaction id as they are shown, in upper case',
  },
  too_many_transaction_ids: {
    status: 400,
    message: 'too many transaction ids, must be <= 50',
    hint: 'ask in several requests',
  },
  bad_transaction: {
    status: 400,
    message: 'could not decode transaction',
    hint: 'send base64 of the msgpack of a bare transaction, not of a signed one',
  },
  not_signed: {
    status: 400,
    message: 'a transaction is not signed, or lacks signatures of its multisig',
    hint: 'sign every transaction of the group before you submit it',
  },
  bad_asset_id: {
    status: 400,
    message: 'could not decode asset id',
    hint: 'send the id of an asset as decimal text, a whole number above 0',
  },
  too_many_asset_ids: { status: 400, message: 'too many asset ids, must be <= 50', hint: 'ask in several requests' },
  bad_amount: {
    status: 400,
    message: 'could not decode amount',
    hint: 'send an amount in the smallest unit as decimal text, a whole number below 2^64',
  },
  bad_master_key_length: {
    status: 400,
    message: 'master_derivation_key must be 32 bytes, or absent for a random one',
    hint: 'send all 32 bytes of the key, or leave it out',
  },
  bad_private_key_length: {
    status: 400,
    message: 'private_key must be 64 bytes (seed, then public key) or the 32 bytes of the seed',
    hint: 'send all 64 bytes that were exported, or the 32 of the seed',
  },
  bad_private_key_halves: {
    status: 400,
    message: 'private_key is damaged: its public half does not belong to its seed',
    hint: 'send the key as it was exported; one of its bytes was changed',
  },
  bad_public_key_length: {
    status: 400,
    message: 'each public key must be 32 bytes',
    hint: 'send all 32 bytes of each public key',
  },
  bad_signature_length: {
    status: 400,
    message: 'each signature in partial_multisig must be 64 bytes, or absent',
    hint: 'send all 64 bytes of a signature, or leave it out',
  },
  bad_signer_length: {
    status: 400,
    message: 'signer must be 32 bytes, or absent',
    hint: 'send all 32 bytes of the multisig address, or leave it out',
  },

  // Wallets
  unknown_driver: { status: 400, message: 'unknown wallet driver', hint: 'send sqlite as wallet_driver_name' },
  not_supported: {
    status: 400,
    message: 'operation not supported by wallet',
    hint: 'use a wallet of the driver sqlite',
  },
  name_too_long: {
    status: 400,
    message: 'wallet name too long, must be <= 64 bytes',
    hint: 'choose a shorter name; letters beyond ASCII count for more than one byte',
  },
  name_blank: { status: 400, message: 'wallet name must not be blank', hint: 'give the new name' },
  name_taken: {
    status: 400,
    message: 'wallet with same name already exists',
    hint: 'choose another name, or use the wallet that has it',
  },
  wallet_not_found: {
    status: 400,
    message: 'wallet not found',
    hint: 'use an id from GET /v1/wallets, which is not the name',
  },
  wallet_id_ambiguous: {
    status: 400,
    message: 'multiple wallets with the same ID exist. cannot continue',
    hint: 'move one of the two files that hold this wallet out of the wallets directory',
  },
  wrong_password: {
    status: 400,
    message: 'error decrypting. wrong password?',
    hint: 'send the password that the wallet was made with; without one it is blank. The status is 401 where a wallet is unlocked',
  },
  too_many_wrong_passwords: {
    status: 429,
    message: 'too many wrong passwords for this wallet; wait as Retry-After says, then try the right one',
    hint: 'wait for as long as Retry-After says, and find out which program sends wrong passwords',
  },
  derivation_busy: {
    status: 503,
    message: 'too many wallets are being unlocked at once; try again as Retry-After says',
    hint: 'wait for as long as Retry-After says, and keep handles instead of unlocking for each request',
  },

  // Handles
  wrong_token_parts: {
    status: 401,
    message: 'wrong number of token parts',
    hint: 'send wallet_handle_token as unlocking returned it',
  },
  bad_handle_id: {
    status: 401,
    message: 'invalid wallet handle id',
    hint: 'send wallet_handle_token as unlocking returned it',
  },
  bad_handle_secret: {
    status: 401,
    message: 'invalid wallet handle secret',
    hint: 'send wallet_handle_token as unlocking returned it',
  },
  handle_unknown: {
    status: 401,
    message: 'handle does not exist',
    hint: 'unlock the wallet again: the handle was released, has expired, or is from before a restart',
  },
  handle_wrong_secret: {
    status: 401,
    message: 'invalid token',
    hint: 'send wallet_handle_token as unlocking returned it',
  },
  handle_expired: {
    status: 401,
    message: 'handle expired',
    hint: 'unlock the wallet again; renew handles before their time is up',
  },
  stopping: { status: 503, message: 'the daemon is stopping', hint: 'start the daemon again, then repeat the request' },
  too_many_handles: {
    status: 503,
    message: 'too many wallet handles are open; release some, or wait until they expire',
    hint: 'release handles when you are done with them',
  },
  no_secure_memory: {
    status: 503,
    message: 'the system gives no more protected memory; release handles, or raise the limits of the daemon',
    hint: 'release handles when you are done with them; look at vm.max_map_count and the limits of the process',
  },

  // Keys and multisig
  cannot_display_mnemonic: {
    status: 400,
    message: 'sqlite wallet driver cannot display mnemonics',
    hint: 'leave display_mnemonic out; export the master key and write it as words yourself',
  },
  too_many_keys: {
    status: 500,
    message: 'too many keys',
    hint: 'make a new wallet; this one has used up its sequence',
  },
  key_not_found: {
    status: 400,
    message: 'key does not exist in this wallet',
    hint: 'list the keys of this wallet; the key may be in another one',
  },
  key_exists: {
    status: 400,
    message: 'key already exists in wallet',
    hint: 'nothing needs to be done: the wallet has it already',
  },
  multisig_not_found: {
    status: 400,
    message: 'multisig information (pks, threshold) for address does not exist in this wallet',
    hint: 'import the multisig first, or send its keys in partial_multisig',
  },
  multisig_version: { status: 400, message: 'unknown version', hint: 'send 1 as the version' },
  multisig_threshold: {
    status: 400,
    message: 'Invalid threshold',
    hint: 'send a threshold of at least 1 and at most the number of keys',
  },
  multisig_not_member: {
    status: 400,
    message: 'Key does not exist',
    hint: 'sign with a key that is a member of this multisig',
  },
  multisig_wrong_preimage: {
    status: 400,
    message: 'given multisig preimage hashes to neither Sender nor AuthAddr',
    hint: 'send the keys in their order, with the threshold, of the multisig that the sender or signer is',
  },
  multisig_not_signer: {
    status: 400,
    message: 'given key is not a possible signer for this multisig',
    hint: 'sign with a key that is a member of this multisig',
  },
  multisig_duplicate: {
    status: 400,
    message: 'Invalid duplicates',
    hint: 'start again from a partial signature of this very transaction or program',
  },
  multisig_too_large: {
    status: 400,
    message: 'a multisig of more than 255 members cannot sign',
    hint: 'use a multisig of at most 255 members; no node accepts a larger one',
  },

  // Wallet files and the daemon itself
  key_mismatch: {
    status: 400,
    message: 'derived public key mismatch, something fishy is going on with this wallet',
    hint: 'restore the wallet file from a backup; a stored key was changed',
  },
  wrong_plaintext_type: {
    status: 400,
    message: 'error decrypting, found the wrong type of data. something fishy is going on with this wallet',
    hint: 'restore the wallet file from a backup; its values were moved around',
  },
  damaged_blob: {
    status: 400,
    message: 'msgpack decode error: a stored value of this wallet is damaged',
    hint: 'restore the wallet file from a backup',
  },
  bad_scrypt_parameters: {
    status: 400,
    message: 'scrypt lib could not derive key from password',
    hint: 'set scrypt_n to a power of two; for an old wallet, restore its file from a backup',
  },
  scrypt_ceiling: {
    status: 400,
    message: 'this wallet asks for more scrypt work than the daemon allows',
    hint: 'find out who wrote this file: no daemon asks for that much',
  },
  database: {
    status: 500,
    message: 'database error',
    hint: 'look into kmd.log; the wallet file may be gone, damaged, or on a full disk',
  },
  database_locked: {
    status: 500,
    message: 'error connecting to database',
    hint: 'find the program that holds the wallet file, and repeat the request when it is done',
  },
  wrong_driver_name: {
    status: 500,
    message: 'found database with wrong driver name in wallets dir',
    hint: 'move the file out of the wallets directory; it is no wallet of this kind',
  },
  wrong_driver_version: {
    status: 500,
    message: 'found database with wrong driver version in wallets dir',
    hint: 'use the daemon that wrote this wallet file; it is of another version',
  },
  wallets_directory: {
    status: 500,
    message: 'the wallets directory cannot be read',
    hint: 'make the directory readable again. The text names it and says what is wrong',
  },
  no_node: {
    status: 503,
    message: 'no node is set: start the daemon with --node URL, or set "algod" in kmd_config.json',
    hint: 'name an Algorand node, and start the daemon again',
  },
  node_failed: {
    status: 503,
    message: 'the node did not answer as it should',
    hint: 'see whether the node runs, and whether its address and token are right. The text names it and says what is wrong',
  },
  no_faucet: {
    status: 400,
    message: 'this network has no faucet here; only the embedded devnet has one',
    hint: 'on TestNet use its public dispenser; on MainNet funds are bought',
  },
  faucet_refused: {
    status: 400,
    message: 'the faucet of the devnet refuses this',
    hint: 'ask for less, or for an asset that exists. The text says why',
  },
  bad_label: {
    status: 400,
    message: 'a label has 1 to 64 characters, none of them invisible, and is no address',
    hint: 'choose a short name without control characters',
  },
  label_taken: {
    status: 400,
    message: 'another address has this label',
    hint: 'choose another label, or delete the other contact first',
  },
  too_many_contacts: {
    status: 400,
    message: 'too many contacts, must be <= 1000',
    hint: 'delete contacts that you do not need any more',
  },
  backup_not_pending: {
    status: 403,
    message:
      'the console shows the recovery mnemonic only of a wallet that was created in it and is not backed up yet; use: latchkey wallet backup',
    hint: 'run latchkey wallet backup NAME on the machine of the daemon',
  },
  state_file_damaged: {
    status: 500,
    message: 'a file in the data directory cannot be used; it was not changed',
    hint: 'repair the file, or move it away to start with an empty one. The text names it and says what is wrong',
  },
  state_file_not_saved: {
    status: 500,
    message: 'a file in the data directory could not be written; nothing was changed',
    hint: 'look for a full disk, or for a data directory that cannot be written. The text names the file',
  },
  internal: {
    status: 500,
    message: 'internal error; kmd.log has the details',
    hint: 'look into kmd.log, and report it: this is a defect',
  },

  ...agentErrors,
} as const satisfies { readonly [code: string]: ErrorEntry & { readonly status: number } }

/** The code of an error response. */
export type Code = keyof typeof apiErrors
