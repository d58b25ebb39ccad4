import { type ErrorRegistry, LatchkeyError } from '@latchkey/algorand'

/** All error codes of this package, with what happened and what to do about it. */
export const errors = {
  invalid_option: {
    message: 'an option of the devnet is out of range',
    hint: 'use a value within the range that the message names',
  },
  address_in_use: {
    message: 'the port is in use',
    hint: 'use another port, or 0 for one that is free',
  },
  listen_failed: {
    message: 'the devnet cannot listen on this address',
    hint: 'use the host 127.0.0.1 and a port above 1023',
  },
  invalid_time: {
    message: 'the time of the next block is before that of the last block, or too large',
    hint: 'give seconds since 1970, at or after the last block',
  },
  unknown_snapshot: {
    message: 'the snapshot does not exist',
    hint: 'take one with snapshot(); snapshots end with a reset, a restart, and a revert to an earlier one',
  },
  too_many_faults: {
    message: 'too many faults are pending',
    hint: 'clear the faults, or use count to repeat one',
  },
  too_many_waiting: {
    message: 'too many requests are waiting for a block',
    hint: 'end some of them, or poll /v2/status',
  },
  programs_not_loaded: {
    message: 'the evaluator of programs is not loaded',
    hint: 'this is a defect of the devnet; report it',
  },
  outcome_changed: {
    message: 'a group of the state file has another outcome than when it was recorded',
    hint: 'open the file with the version that wrote it, and load a dump of that; or start with another path',
  },
  malformed_transaction: {
    message: 'a transaction is malformed',
    hint: 'build it again; the message names the field',
  },
  missing_signature: {
    message: 'a transaction has no signature, or one of an unsupported form',
    hint: 'sign it with the key of its sender',
  },
  invalid_group: {
    message: 'the transactions do not form the group that they name',
    hint: 'assign the group id again and submit all members in order',
  },
  invalid_signature: {
    message: 'a signature does not verify',
    hint: 'sign the canonical bytes of the transaction with the key of its sender',
  },
  pool_full: {
    message: 'the open block is full',
    hint: 'mine a block',
  },
  rule_violation: {
    message: 'a rule of the ledger does not allow the transaction',
    hint: 'the message names the rule: balance, minimum balance, opt-in, validity, lease or authorization',
  },
  trace_too_large: {
    message: 'the trace of the simulation is larger than 64 MB',
    hint: 'trace without stack, scratch or state changes, or simulate with a smaller extra-opcode-budget',
  },
  state_file_locked: {
    message: 'the state file is in use by another devnet',
    hint: 'stop the other devnet, or use another file',
  },
  state_file_unavailable: {
    message: 'the state file cannot be opened',
    hint: 'check that its directory exists and is writable',
  },
  state_file_unrecognized: {
    message: 'the file is not the state file of a devnet',
    hint: 'use another path',
  },
  state_file_version: {
    message: 'the state file was written by another version',
    hint: 'open it with the version that wrote it, and load a dump of that here; or start with another path',
  },
  state_file_network: {
    message: 'the state file belongs to a devnet with another genesis',
    hint: 'start with the same number of accounts and the same genesis hash, or with another path',
  },
  state_file_damaged: {
    message: 'the state file is damaged before its end',
    hint: 'restore a copy, or truncate the file as the message shows',
  },
  state_file_write_failed: {
    message: 'the state file cannot be written',
    hint: 'free disk space or repair the disk, and start again: all acknowledged changes are in the file',
  },
  state_file_too_slow: {
    message: 'too many bytes are waiting to be written to the state file',
    hint: 'submit more slowly, or put the file on a faster disk',
  },
  state_file_closed: {
    message: 'the state file was closed',
    hint: 'start the devnet again',
  },
  invalid_dump: {
    message: 'the dump is invalid',
    hint: 'write the dump again; the message names the invalid member',
  },
  dump_version: {
    message: 'the dump was written by another version',
    hint: 'use the version that wrote it',
  },
  dump_network: {
    message: 'the dump belongs to a devnet with another genesis',
    hint: 'start with the same number of accounts and the same genesis hash',
  },
  dump_too_large: {
    message: 'the dump is larger than a string can be',
    hint: 'keep fewer blocks with historyBlocks, and not all with archival',
  },
  dump_file_unavailable: {
    message: 'the dump file cannot be read or written',
    hint: 'check the path and its permissions',
  },
} as const satisfies ErrorRegistry

/** A code of {@link errors}. */
export type DevnetErrorCode = keyof typeof errors

type DumpErrorCode = 'invalid_dump' | 'dump_version' | 'dump_network' | 'dump_too_large' | 'dump_file_unavailable'

/** A dump cannot be read or written. */
export class DumpError extends LatchkeyError<DumpErrorCode> {
  override name = 'DumpError'
  /** The path of the member at fault, if there is one: `document.accounts[3].microAlgos`. */
  readonly member: string | undefined

  constructor(code: DumpErrorCode, message: string, { member, cause }: { member?: string; cause?: unknown } = {}) {
    super(code, message, { hint: errors[code].hint, cause })
    this.member = member
  }
}

type StateFileErrorCode = Extract<keyof typeof errors, `state_file_${string}`>

/** The state file cannot be opened, replayed or written. */
export class StateFileError extends LatchkeyError<StateFileErrorCode> {
  override name = 'StateFileError'

  constructor(code: StateFileErrorCode, message: string, { hint, cause }: { hint?: string; cause?: unknown } = {}) {
    super(code, message, { hint: hint ?? errors[code].hint, cause })
  }
}

type CallErrorCode =
  | 'invalid_option'
  | 'address_in_use'
  | 'listen_failed'
  | 'invalid_time'
  | 'unknown_snapshot'
  | 'too_many_faults'
  | 'too_many_waiting'
  | 'programs_not_loaded'
  | 'outcome_changed'

/** A devnet call that cannot be carried out, because of an option, a port, a time, a snapshot or a fault. */
export class DevnetError extends LatchkeyError<CallErrorCode> {
  override name = 'DevnetError'

  constructor(code: CallErrorCode, message: string, cause?: unknown) {
    super(code, message, { hint: errors[code].hint, cause })
  }
}
