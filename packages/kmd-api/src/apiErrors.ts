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
    hint: 'use the address in kmd.net, or add the host name to allowed_hosts in kmd_config.json',
  },
  console_refused: {
    status: 403,
    message: 'the console may not do this; use the command line',
    hint: 'use the latchkey command or the API token: a console session can neither export nor delete keys',
  },
  forbidden_user: {
    status: 403,
    message: 'the socket does not serve this user, or the user cannot be determined',
    hint: "add the user's number to unix_socket_uids in kmd_config.json",
  },
  console_not_local: {
    status: 403,
    message: "the console is only for browsers on the daemon's machine; open it there, at 127.0.0.1 or localhost",
    hint: 'open the console on the machine where the daemon runs; from another machine, use a tunnel to its port',
  },
  bad_ticket: {
    status: 401,
    message: 'this console link was already used or has expired; run: latchkey console',
    hint: 'get a new link: each link works once, within a minute',
  },
  not_found: {
    status: 404,
    message: 'no such path; GET /swagger.json lists them',
    hint: 'check the path against /swagger.json; paths have no trailing slash',
  },
  method_not_allowed: {
    status: 405,
    message: 'this path exists, but not with this method; GET /swagger.json lists them',
    hint: 'use a method from the Allow header',
  },
  body_too_large: {
    status: 413,
    message: 'request body too large, must be <= 1048576 bytes',
    hint: 'send a smaller body; split large data into several requests',
  },
  body_no_room: {
    status: 503,
    message: 'too many request bodies arrive at the same time',
    hint: 'repeat the request later, and send fewer large bodies at the same time',
  },
  body_timeout: {
    status: 408,
    message: 'the request body did not arrive in time',
    hint: 'send the body together with the headers, without pauses',
  },
  bad_body: {
    status: 400,
    message: 'could not decode request body',
    hint: 'send one JSON object with only the members of this operation, each of the documented type',
  },
  bad_address: {
    status: 400,
    message: 'could not decode address',
    hint: 'send the 58 characters of an address as they are shown, in upper case',
  },
  too_many_addresses: {
    status: 400,
    message: 'too many addresses, must be <= 100',
    hint: 'split the list into several requests',
  },
  bad_transaction_id: {
    status: 400,
    message: 'could not decode transaction id',
    hint: 'send the 52 characters of a transaction id as they are shown, in upper case',
  },
  too_many_transaction_ids: {
    status: 400,
    message: 'too many transaction ids, must be <= 50',
    hint: 'split the list into several requests',
  },
  bad_transaction: {
    status: 400,
    message: 'could not decode transaction',
    hint: 'send the msgpack of an unsigned transaction, in base64',
  },
  bad_receipt: {
    status: 400,
    message: 'could not make the receipt',
    hint: 'send the CAIP-2 id of an Algorand network, a URL of at most 4,096 characters, an address and a transaction id',
  },
  bad_offer: {
    status: 400,
    message: 'could not make the offer',
    hint: 'send a URL of at most 4,096 characters, a scheme, the CAIP-2 id of an Algorand network, an asset id and an amount in base units',
  },
  bad_authorization: {
    status: 400,
    message: 'could not make the authorization',
    hint: 'send addresses, a genesis hash in base64, integers as decimal text, and 16 random bytes as the nonce',
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
  too_many_asset_ids: {
    status: 400,
    message: 'too many asset ids, must be <= 50',
    hint: 'split the list into several requests',
  },
  bad_amount: {
    status: 400,
    message: 'could not decode amount',
    hint: 'send an amount in the smallest unit as decimal text, a whole number below 2^64',
  },
  bad_master_key_length: {
    status: 400,
    message: 'master_derivation_key must be 32 bytes, or absent for a random one',
    hint: 'send all 32 bytes of the key, or omit it',
  },
  bad_private_key_length: {
    status: 400,
    message: 'private_key must be 64 bytes (seed, then public key) or the 32 bytes of the seed',
    hint: 'send all 64 bytes that were exported, or the 32 of the seed',
  },
  bad_private_key_halves: {
    status: 400,
    message: 'private_key is damaged: its public half does not belong to its seed',
    hint: 'send the key exactly as it was exported; one of its bytes was changed',
  },
  bad_public_key_length: {
    status: 400,
    message: 'each public key must be 32 bytes',
    hint: 'send all 32 bytes of each public key',
  },
  bad_signature_length: {
    status: 400,
    message: 'each signature in partial_multisig must be 64 bytes, or absent',
    hint: 'send all 64 bytes of a signature, or omit it',
  },
  bad_signer_length: {
    status: 400,
    message: 'signer must be 32 bytes, or absent',
    hint: 'send all 32 bytes of the multisig address, or omit it',
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
    hint: 'send the password that the wallet was created with; it is blank if none was given. The status is 401 where a wallet is unlocked',
  },
  too_many_wrong_passwords: {
    status: 429,
    message: 'too many wrong passwords for this wallet; wait as long as Retry-After says, then send the right one',
    hint: 'wait as long as Retry-After says, and find out which program sends wrong passwords',
  },
  derivation_busy: {
    status: 503,
    message: 'too many wallets are being unlocked at once; wait as long as Retry-After says, then try again',
    hint: 'wait as long as Retry-After says, and keep handles instead of unlocking for each request',
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
    hint: 'unlock the wallet again; renew handles before they expire',
  },
  stopping: { status: 503, message: 'the daemon is stopping', hint: 'start the daemon again, then repeat the request' },
  too_many_handles: {
    status: 503,
    message: 'too many wallet handles are open; release some, or wait until they expire',
    hint: 'release handles when you are done with them',
  },
  no_secure_memory: {
    status: 503,
    message: "the system has no more protected memory; release handles, or raise the daemon's limits",
    hint: 'release handles when you are done with them; check vm.max_map_count and the process limits',
  },

  // Keys and multisig
  cannot_display_mnemonic: {
    status: 400,
    message: 'sqlite wallet driver cannot display mnemonics',
    hint: 'omit display_mnemonic; export the master derivation key and encode it as a mnemonic yourself',
  },
  too_many_keys: {
    status: 500,
    message: 'too many keys',
    hint: 'create a new wallet; this one has used all of its key indexes',
  },
  key_not_found: {
    status: 400,
    message: 'key does not exist in this wallet',
    hint: 'list the keys of this wallet; the key may be in another one',
  },
  key_exists: {
    status: 400,
    message: 'key already exists in wallet',
    hint: 'nothing to do: the wallet already has this key',
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
    hint: 'send the keys, in order, and the threshold of the multisig account that is the sender or signer',
  },
  multisig_not_signer: {
    status: 400,
    message: 'given key is not a possible signer for this multisig',
    hint: 'sign with a key that is a member of this multisig',
  },
  multisig_duplicate: {
    status: 400,
    message: 'Invalid duplicates',
    hint: 'start again from a partial signature of the same transaction or program',
  },
  multisig_too_large: {
    status: 400,
    message: 'a multisig of more than 255 members cannot sign',
    hint: 'use a multisig account with at most 255 members; no node accepts a larger one',
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
    hint: 'restore the wallet file from a backup; its values were moved',
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
    message: 'this wallet requires more scrypt work than the daemon allows',
    hint: 'check where this wallet file comes from: no daemon requires that much',
  },
  database: {
    status: 500,
    message: 'database error',
    hint: 'see kmd.log; the wallet file may be missing, damaged, or on a full disk',
  },
  database_locked: {
    status: 500,
    message: 'error connecting to database',
    hint: 'find the program that has locked the wallet file, and repeat the request when it is done',
  },
  wrong_driver_name: {
    status: 500,
    message: 'found database with wrong driver name in wallets dir',
    hint: 'move the file out of the wallets directory; it is not a wallet of this driver',
  },
  wrong_driver_version: {
    status: 500,
    message: 'found database with wrong driver version in wallets dir',
    hint: 'use the daemon that wrote this wallet file, which has another version',
  },
  wallets_directory: {
    status: 500,
    message: 'the wallets directory cannot be read',
    hint: 'make the directory readable again. The message names it and gives the reason',
  },
  no_node: {
    status: 503,
    message: 'no node is set: start the daemon with --node URL, or set "algod" in kmd_config.json',
    hint: 'set the URL of an Algorand node, and start the daemon again',
  },
  node_failed: {
    status: 503,
    message: 'the node did not respond as expected',
    hint: 'check that the node is running, and that its URL and token are right. The message names the node and gives the reason',
  },
  no_faucet: {
    status: 400,
    message: 'this network has no faucet here; only the embedded devnet has one',
    hint: 'on TestNet, use the public dispenser; on MainNet, buy ALGO',
  },
  faucet_refused: {
    status: 400,
    message: "the devnet's faucet refused the request",
    hint: 'ask for less, or for an asset that exists. The message gives the reason',
  },
  bad_label: {
    status: 400,
    message: 'a label must have 1 to 64 visible characters, and must not be an address',
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
    hint: 'delete contacts that you no longer need',
  },
  backup_not_pending: {
    status: 403,
    message:
      'the console shows the recovery mnemonic only of a wallet that was created in it and is not backed up yet; run: latchkey wallet backup',
    hint: "run latchkey wallet backup NAME on the daemon's machine",
  },
  state_file_damaged: {
    status: 500,
    message: 'a file in the data directory cannot be used; it was not changed',
    hint: 'repair the file, or move it away to start with an empty one. The message names it and gives the reason',
  },
  state_file_not_saved: {
    status: 500,
    message: 'a file in the data directory could not be written; nothing was changed',
    hint: 'check for a full disk, or a data directory that is not writable. The message names the file',
  },
  internal: {
    status: 500,
    message: 'internal error; kmd.log has the details',
    hint: 'see kmd.log, and report the error: it is a defect',
  },

  ...agentErrors,
} as const satisfies { readonly [code: string]: ErrorEntry & { readonly status: number } }

/** The code of an error response. */
export type Code = keyof typeof apiErrors
