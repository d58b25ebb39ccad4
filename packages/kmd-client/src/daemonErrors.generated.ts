// Written by scripts/generate-client.mjs from the daemon. Do not edit it; run `npm run generate`.

/** Every error code of the daemon. The messages are the texts that it sends, unless a text has details of its own. */
export const daemonErrors = {
  invalid_token: {
    message: 'invalid API token',
    hint: 'send the first line of kmd.token in the header X-KMD-API-Token',
  },
  forbidden_host: {
    message: 'this Host is not served; use the address in kmd.net, or add the name to allowed_hosts in kmd_config.json',
    hint: 'call the daemon by the address in kmd.net, or name the host in allowed_hosts',
  },
  console_refused: {
    message: 'the console may not do this; use the command line',
    hint: 'do it with latchkey, or with the API token: a session of the console can neither export nor delete keys',
  },
  forbidden_user: {
    message: 'this user may not use the socket, or cannot be determined',
    hint: 'add the number of the user to unix_socket_uids in kmd_config.json',
  },
  console_not_local: {
    message: 'the console is for browsers on the machine of the daemon only; open it there, by 127.0.0.1 or localhost',
    hint: 'open the console on the machine where the daemon runs; from another one, through a tunnel to its port',
  },
  bad_ticket: {
    message: 'this link to the console was used already or is too old; run: latchkey console',
    hint: 'ask for another link: each works once, within a minute',
  },
  not_found: {
    message: 'no such path; GET /swagger.json lists them',
    hint: 'check the path against /swagger.json; there is no trailing slash',
  },
  method_not_allowed: {
    message: 'this path exists, but not with this method; GET /swagger.json lists them',
    hint: 'use a method that the Allow header names',
  },
  body_too_large: {
    message: 'request body too large, must be <= 1048576 bytes',
    hint: 'send less; split what you sign into several requests',
  },
  body_timeout: {
    message: 'the request body did not arrive in time',
    hint: 'send the body together with the headers, and look for what holds it up',
  },
  bad_body: {
    message: 'could not decode request body',
    hint: 'send one JSON object that has only the members of this operation, each of its type',
  },
  bad_address: {
    message: 'could not decode address',
    hint: 'send the 58 characters of an address as they are shown, in upper case',
  },
  too_many_addresses: {
    message: 'too many addresses, must be <= 100',
    hint: 'ask in several requests',
  },
  bad_transaction_id: {
    message: 'could not decode transaction id',
    hint: 'send the 52 characters of a transaction id as they are shown, in upper case',
  },
  too_many_transaction_ids: {
    message: 'too many transaction ids, must be <= 50',
    hint: 'ask in several requests',
  },
  bad_transaction: {
    message: 'could not decode transaction',
    hint: 'send base64 of the msgpack of a bare transaction, not of a signed one',
  },
  not_signed: {
    message: 'a transaction is not signed, or lacks signatures of its multisig',
    hint: 'sign every transaction of the group before you submit it',
  },
  bad_asset_id: {
    message: 'could not decode asset id',
    hint: 'send the id of an asset as decimal text, a whole number above 0',
  },
  too_many_asset_ids: {
    message: 'too many asset ids, must be <= 50',
    hint: 'ask in several requests',
  },
  bad_amount: {
    message: 'could not decode amount',
    hint: 'send an amount in the smallest unit as decimal text, a whole number below 2^64',
  },
  bad_master_key_length: {
    message: 'master_derivation_key must be 32 bytes, or absent for a random one',
    hint: 'send all 32 bytes of the key, or leave it out',
  },
  bad_private_key_length: {
    message: 'private_key must be 64 bytes (seed, then public key) or the 32 bytes of the seed',
    hint: 'send all 64 bytes that were exported, or the 32 of the seed',
  },
  bad_private_key_halves: {
    message: 'private_key is damaged: its public half does not belong to its seed',
    hint: 'send the key as it was exported; one of its bytes was changed',
  },
  bad_public_key_length: {
    message: 'each public key must be 32 bytes',
    hint: 'send all 32 bytes of each public key',
  },
  bad_signature_length: {
    message: 'each signature in partial_multisig must be 64 bytes, or absent',
    hint: 'send all 64 bytes of a signature, or leave it out',
  },
  bad_signer_length: {
    message: 'signer must be 32 bytes, or absent',
    hint: 'send all 32 bytes of the multisig address, or leave it out',
  },
  unknown_driver: {
    message: 'unknown wallet driver',
    hint: 'send sqlite as wallet_driver_name',
  },
  not_supported: {
    message: 'operation not supported by wallet',
    hint: 'use a wallet of the driver sqlite',
  },
  name_too_long: {
    message: 'wallet name too long, must be <= 64 bytes',
    hint: 'choose a shorter name; letters beyond ASCII count for more than one byte',
  },
  name_blank: {
    message: 'wallet name must not be blank',
    hint: 'give the new name',
  },
  name_taken: {
    message: 'wallet with same name already exists',
    hint: 'choose another name, or use the wallet that has it',
  },
  wallet_not_found: {
    message: 'wallet not found',
    hint: 'use an id from GET /v1/wallets, which is not the name',
  },
  wallet_id_ambiguous: {
    message: 'multiple wallets with the same ID exist. cannot continue',
    hint: 'move one of the two files that hold this wallet out of the wallets directory',
  },
  wrong_password: {
    message: 'error decrypting. wrong password?',
    hint: 'send the password that the wallet was made with; without one it is blank. The status is 401 where a wallet is unlocked',
  },
  too_many_wrong_passwords: {
    message: 'too many wrong passwords for this wallet; wait as Retry-After says, then try the right one',
    hint: 'wait for as long as Retry-After says, and find out which program sends wrong passwords',
  },
  derivation_busy: {
    message: 'too many wallets are being unlocked at once; try again as Retry-After says',
    hint: 'wait for as long as Retry-After says, and keep handles instead of unlocking for each request',
  },
  wrong_token_parts: {
    message: 'wrong number of token parts',
    hint: 'send wallet_handle_token as unlocking returned it',
  },
  bad_handle_id: {
    message: 'invalid wallet handle id',
    hint: 'send wallet_handle_token as unlocking returned it',
  },
  bad_handle_secret: {
    message: 'invalid wallet handle secret',
    hint: 'send wallet_handle_token as unlocking returned it',
  },
  handle_unknown: {
    message: 'handle does not exist',
    hint: 'unlock the wallet again: the handle was released, has expired, or is from before a restart',
  },
  handle_wrong_secret: {
    message: 'invalid token',
    hint: 'send wallet_handle_token as unlocking returned it',
  },
  handle_expired: {
    message: 'handle expired',
    hint: 'unlock the wallet again; renew handles before their time is up',
  },
  stopping: {
    message: 'the daemon is stopping',
    hint: 'start the daemon again, then repeat the request',
  },
  too_many_handles: {
    message: 'too many wallet handles are open; release some, or wait until they expire',
    hint: 'release handles when you are done with them',
  },
  no_secure_memory: {
    message: 'the system gives no more protected memory; release handles, or raise the limits of the daemon',
    hint: 'release handles when you are done with them; look at vm.max_map_count and the limits of the process',
  },
  cannot_display_mnemonic: {
    message: 'sqlite wallet driver cannot display mnemonics',
    hint: 'leave display_mnemonic out; export the master key and write it as words yourself',
  },
  too_many_keys: {
    message: 'too many keys',
    hint: 'make a new wallet; this one has used up its sequence',
  },
  key_not_found: {
    message: 'key does not exist in this wallet',
    hint: 'list the keys of this wallet; the key may be in another one',
  },
  key_exists: {
    message: 'key already exists in wallet',
    hint: 'nothing needs to be done: the wallet has it already',
  },
  multisig_not_found: {
    message: 'multisig information (pks, threshold) for address does not exist in this wallet',
    hint: 'import the multisig first, or send its keys in partial_multisig',
  },
  multisig_version: {
    message: 'unknown version',
    hint: 'send 1 as the version',
  },
  multisig_threshold: {
    message: 'Invalid threshold',
    hint: 'send a threshold of at least 1 and at most the number of keys',
  },
  multisig_not_member: {
    message: 'Key does not exist',
    hint: 'sign with a key that is a member of this multisig',
  },
  multisig_wrong_preimage: {
    message: 'given multisig preimage hashes to neither Sender nor AuthAddr',
    hint: 'send the keys in their order, with the threshold, of the multisig that the sender or signer is',
  },
  multisig_not_signer: {
    message: 'given key is not a possible signer for this multisig',
    hint: 'sign with a key that is a member of this multisig',
  },
  multisig_duplicate: {
    message: 'Invalid duplicates',
    hint: 'start again from a partial signature of this very transaction or program',
  },
  multisig_too_large: {
    message: 'a multisig of more than 255 members cannot sign',
    hint: 'use a multisig of at most 255 members; no node accepts a larger one',
  },
  key_mismatch: {
    message: 'derived public key mismatch, something fishy is going on with this wallet',
    hint: 'restore the wallet file from a backup; a stored key was changed',
  },
  wrong_plaintext_type: {
    message: 'error decrypting, found the wrong type of data. something fishy is going on with this wallet',
    hint: 'restore the wallet file from a backup; its values were moved around',
  },
  damaged_blob: {
    message: 'msgpack decode error: a stored value of this wallet is damaged',
    hint: 'restore the wallet file from a backup',
  },
  bad_scrypt_parameters: {
    message: 'scrypt lib could not derive key from password',
    hint: 'set scrypt_n to a power of two; for an old wallet, restore its file from a backup',
  },
  scrypt_ceiling: {
    message: 'this wallet asks for more scrypt work than the daemon allows',
    hint: 'find out who wrote this file: no daemon asks for that much',
  },
  database: {
    message: 'database error',
    hint: 'look into kmd.log; the wallet file may be gone, damaged, or on a full disk',
  },
  database_locked: {
    message: 'error connecting to database',
    hint: 'find the program that holds the wallet file, and repeat the request when it is done',
  },
  wrong_driver_name: {
    message: 'found database with wrong driver name in wallets dir',
    hint: 'move the file out of the wallets directory; it is no wallet of this kind',
  },
  wrong_driver_version: {
    message: 'found database with wrong driver version in wallets dir',
    hint: 'use the daemon that wrote this wallet file; it is of another version',
  },
  wallets_directory: {
    message: 'the wallets directory cannot be read',
    hint: 'make the directory readable again. The text names it and says what is wrong',
  },
  no_node: {
    message: 'no node is set: start the daemon with --node URL, or set "algod" in kmd_config.json',
    hint: 'name an Algorand node, and start the daemon again',
  },
  node_failed: {
    message: 'the node did not answer as it should',
    hint: 'see whether the node runs, and whether its address and token are right. The text names it and says what is wrong',
  },
  no_faucet: {
    message: 'this network has no faucet here; only the embedded devnet has one',
    hint: 'on TestNet use its public dispenser; on MainNet funds are bought',
  },
  faucet_refused: {
    message: 'the faucet of the devnet refuses this',
    hint: 'ask for less, or for an asset that exists. The text says why',
  },
  bad_label: {
    message: 'a label has 1 to 64 characters, none of them invisible, and is no address',
    hint: 'choose a short name without control characters',
  },
  label_taken: {
    message: 'another address has this label',
    hint: 'choose another label, or delete the other contact first',
  },
  too_many_contacts: {
    message: 'too many contacts, must be <= 1000',
    hint: 'delete contacts that you do not need any more',
  },
  backup_not_pending: {
    message: 'the console shows the recovery mnemonic only of a wallet that was created in it and is not backed up yet; use: latchkey wallet backup',
    hint: 'run latchkey wallet backup NAME on the machine of the daemon',
  },
  state_file_damaged: {
    message: 'a file in the data directory cannot be used; it was not changed',
    hint: 'repair the file, or move it away to start with an empty one. The text names it and says what is wrong',
  },
  state_file_not_saved: {
    message: 'a file in the data directory could not be written; nothing was changed',
    hint: 'look for a full disk, or for a data directory that cannot be written. The text names the file',
  },
  internal: {
    message: 'internal error; kmd.log has the details',
    hint: 'look into kmd.log, and report it: this is a defect',
  },
  too_many_connections: {
    message: 'this token has too many requests in progress; send fewer at a time',
    hint: 'wait for responses before you send more, and reuse connections: one token may use a quarter of them',
  },
  agent_operation_forbidden: {
    message: 'an agent may not use this operation',
    hint: 'use the API token of the owner, or an operation that agents have: GET /latchkey/v1/agent lists what this one may do',
  },
  agent_token_required: {
    message: 'this operation is for agents; send an agent token',
    hint: 'send the token of an agent as X-KMD-API-Token, or use the operations of the owner: POST /latchkey/v1/agents/show',
  },
  agent_wallet_forbidden: {
    message: 'this agent has no access to this wallet or key',
    hint: 'use the wallet and the keys of the grant: GET /latchkey/v1/agent lists them',
  },
  agent_paused: {
    message: 'this agent is paused by its owner',
    hint: 'ask the owner, who can run: latchkey agent resume NAME',
  },
  agent_suspended: {
    message: 'agents are suspended: the state database of the daemon was rolled back or damaged',
    hint: 'ask the owner, who can run: latchkey agent confirm',
  },
  agent_ended: {
    message: 'this agent has ended: it was revoked, it expired, or its key was deleted',
    hint: 'ask the owner for another agent: latchkey agent new',
  },
  agent_transaction_forbidden: {
    message: 'this agent may not sign this kind of transaction',
    hint: 'send a payment or an asset transfer without rekeying, close-out or clawback; other types need a rule of the owner',
  },
  agent_network_forbidden: {
    message: 'this agent may not sign for this network',
    hint: 'use a network of the grant: the genesis hash of the transaction names another',
  },
  agent_fee_too_high: {
    message: 'the fee is above the maximum that this agent may pay',
    hint: 'set a lower fee; the usual one is 1000 microAlgos',
  },
  agent_validity_too_long: {
    message: 'the transaction is valid for longer than this agent may sign',
    hint: 'set the last valid round closer to the first',
  },
  agent_round_unknown: {
    message: 'the current round of this network is unknown, so the validity of the transaction cannot be checked',
    hint: 'try again soon; the owner can check the node of the daemon: latchkey doctor',
  },
  agent_payee_denied: {
    message: 'this agent may not pay this address',
    hint: 'pay another address; the owner denied this one',
  },
  agent_payee_unknown: {
    message: 'this agent may only pay the addresses that its owner listed',
    hint: 'ask the owner to add the address: latchkey agent limit NAME --pay-to ADDRESS',
  },
  agent_asset_without_limit: {
    message: 'this agent has no limit for this asset, so it cannot spend it',
    hint: 'ask the owner for a limit on this asset; fees count as Algos',
  },
  agent_limit_exceeded: {
    message: 'this payment is beyond a limit of this agent',
    hint: 'wait until more is available, as Latchkey-Refusal says, or ask the owner for a higher limit',
  },
  agent_approval_required: {
    message: 'this payment needs the approval of the owner',
    hint: 'wait for the approval that Latchkey-Approval names, then send the same transaction again',
  },
  agent_approval_denied: {
    message: 'the owner denied this payment',
    hint: 'do not send it again; another transaction would ask the owner again',
  },
  agent_not_found: {
    message: 'agent not found',
    hint: 'list the agents: latchkey agent list',
  },
  agent_name_taken: {
    message: 'an agent with this name already exists',
    hint: 'choose another name, or revoke that agent',
  },
  bad_agent: {
    message: 'the agent or its rules are invalid',
    hint: 'correct the part that the message names',
  },
  too_many_agents: {
    message: 'too many agents, must be <= 10000',
    hint: 'revoke agents that are no longer used',
  },
  approval_not_found: {
    message: 'approval not found',
    hint: 'list what is waiting: latchkey approvals list',
  },
  approval_decided: {
    message: 'this approval was already decided or has expired',
    hint: 'the agent has to ask again',
  },
  too_many_approvals: {
    message: 'too many payments of this agent wait for an approval',
    hint: 'wait for the owner to decide, or for the oldest to expire',
  },
  bad_audit_query: {
    message: 'the audit log query is invalid',
    hint: 'correct the part that the message names',
  },
  state_not_written: {
    message: 'the audit log cannot be written, so nothing was signed or changed',
    hint: 'free disk space; latchkey_state.db in the data directory has to be writable',
  },
} as const

/** A code that the daemon's error responses have. */
export type DaemonErrorCode = keyof typeof daemonErrors
