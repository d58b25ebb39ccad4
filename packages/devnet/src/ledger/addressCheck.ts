/**
 * The addresses that nodes refuse when a transaction is submitted, unless the client waives the check: those of
 * post-quantum keys and of programs that are points of the curve of Ed25519. A quantum computer could find the key of
 * such an address. Only the REST API makes this check: the ledger accepts these transactions, and simulations do too.
 */
import { Bytes, Program, type Submission } from '@latchkey/algorand'
import * as PostQuantum from '@latchkey/algorand/post-quantum'
import { LedgerError } from './LedgerError.js'
import * as MapKey from './MapKey.js'
import { versionOf } from './programs/programVersion.js'

/** The query parameter that waives the check. */
export const waiver = 'skip-pq-address-check'

/** From the first one on, the assembler avoids such programs. The last one is the newest that the assembler knows. */
const [firstVersion, lastVersion] = [13n, 14n]

/**
 * Checks the addresses of a group.
 *
 * @throws LedgerError
 */
export function checkAddresses(group: readonly Submission.Decoded[]): void {
  // Nodes check all keys before all programs.
  checkAll(group, keyProblem)
  checkAll(group, programProblem)
}

function checkAll(
  group: readonly Submission.Decoded[],
  problemOf: (signed: Submission.Submitted) => string | undefined,
): void {
  for (const [index, { signed }] of group.entries()) {
    const problem = problemOf(signed)
    if (problem === undefined) continue
    const hint = `use another key or program, or the query parameter ${waiver}=true`
    throw new LedgerError('invalid_signature', `transaction ${index}: ${problem}`, { index, hint })
  }
}

function keyProblem({ pqsig, lsig }: Submission.Submitted): string | undefined {
  const signature = pqsig ?? (lsig?.l === undefined ? undefined : lsig.pqsig)
  if (signature?.pk === undefined) return undefined
  const address = PostQuantum.address(signature)
  if (!PostQuantum.isCurvePoint(address)) return undefined
  const text = MapKey.address(MapKey.of(address))
  return `pq signature authorizer address ${text} is an Edwards25519 curve point (non PQ-compliant)`
}

function programProblem({ lsig, sgnr, txn }: Submission.Submitted): string | undefined {
  if (lsig?.l === undefined) return undefined
  const version = versionOf(lsig.l)
  if (typeof version === 'string' || version < firstVersion || version > lastVersion) return undefined
  // A delegated program has no address of its own.
  const isDelegated = [lsig.sig, lsig.msig, lsig.lmsig, lsig.pqsig].some((signature) => signature !== undefined)
  const address = Program.address(lsig.l)
  if (isDelegated || !Bytes.equal(address, sgnr ?? txn.snd) || !PostQuantum.isCurvePoint(address)) return undefined
  const what = `TEAL v${version} LogicSig program hash is an Edwards25519 point and should not be used`
  return `${what}; set ${waiver}=true to submit anyway if you understand the risks and know what you are doing`
}
