import { always, bytes, fixed, list, struct, uint8 } from './Schema.js'
import { type Rules, signingRules, submissionRules, submittedTransaction, transaction } from './TransactionSchema.js'

const maxMembers = 255
// A logic signature may use the allowance of all sixteen transactions of its group.
const maxLogicBytes = 16_000

function multisigBy({ needed }: Rules) {
  return struct({
    v: needed(uint8),
    thr: needed(uint8),
    subsig: needed(list(struct({ pk: always(fixed(32)), s: fixed(64) }), maxMembers)),
  })
}

export const multisig = multisigBy(signingRules)
// Marked as pure, because pages need only the schemas of wallets.
const submittedMultisig = /* @__PURE__ */ multisigBy(submissionRules)

function logicMembers(msig: typeof multisig, { maxLogicArguments }: Rules) {
  return {
    l: bytes(maxLogicBytes),
    sig: fixed(64),
    msig,
    lmsig: msig,
    arg: list(bytes(maxLogicBytes), maxLogicArguments, maxLogicBytes),
  }
}

function signedMembers(rules: Rules, msig: typeof multisig, txn: typeof transaction) {
  return { sig: fixed(64), msig, sgnr: fixed(32, { isAddress: true }), txn: rules.needed(txn) }
}

export const signedTransaction = struct({
  ...signedMembers(signingRules, multisig, transaction),
  lsig: struct(logicMembers(multisig, signingRules)),
})

// Two bytes of scheme name, one of salt, and the sizes of the only scheme so far, Falcon-1024. Wallets have no such
// keys, so only a node reads these.
function submittedBy(rules: Rules) {
  const postQuantum = struct({ sch: fixed(2), slt: uint8, pk: bytes(1793), sig: bytes(1423) })
  return struct({
    ...signedMembers(rules, submittedMultisig, submittedTransaction),
    lsig: struct({ ...logicMembers(submittedMultisig, rules), pqsig: postQuantum }),
    pqsig: postQuantum,
  })
}

export const submitted = /* @__PURE__ */ submittedBy(submissionRules)
