import { always, bytes, fixed, list, required, struct, uint8 } from './Schema.js'
import { transaction } from './TransactionSchema.js'

const maxMembers = 255
const maxLogicArguments = 255
// A logic signature may use the allowance of all sixteen transactions of its group.
const maxLogicBytes = 16_000

export const multisig = struct({
  v: required(uint8),
  thr: required(uint8),
  subsig: required(list(struct({ pk: always(fixed(32)), s: fixed(64) }), maxMembers)),
})

const logic = struct({
  l: bytes(maxLogicBytes),
  sig: fixed(64),
  msig: multisig,
  lmsig: multisig,
  arg: list(bytes(maxLogicBytes), maxLogicArguments, maxLogicBytes),
})

export const signedTransaction = struct({
  sig: fixed(64),
  msig: multisig,
  lsig: logic,
  sgnr: fixed(32),
  txn: required(transaction),
})
