/** Post-quantum signatures of transactions and of delegations to programs, in the rules and messages of nodes. */
import type { Submission } from '@latchkey/algorand'
import * as PostQuantum from '@latchkey/algorand/post-quantum'
import * as MapKey from './MapKey.js'

type Signature = Submission.PostQuantumSignature

/** The error codes of the reference implementation of Falcon. */
const errorCodes: { readonly [failure in PostQuantum.Failure]: number } = { malformed: -3, mismatch: -4 }

/** Returns why nodes refuse the signature of a message by an account, or undefined. */
export function problemOf(signature: Signature, message: Uint8Array, authorizer: MapKey.MapKey): string | undefined {
  return schemeProblem(signature) ?? addressProblem(signature, authorizer) ?? signatureProblem(signature, message)
}

/**
 * A signature without its bytes stands for one in a simulation that permits empty signatures. Returns why nodes refuse
 * it, or undefined. Without a key it only names the scheme, which decides the fee.
 */
export function placeholderProblem(signature: Signature, authorizer: MapKey.MapKey | undefined): string | undefined {
  const isAddressChecked = authorizer !== undefined && signature.pk !== undefined
  return schemeProblem(signature) ?? (isAddressChecked ? addressProblem(signature, authorizer) : undefined)
}

/** The bytes that an account signs to delegate itself to a program. */
export function programBytes(account: MapKey.MapKey, program: Uint8Array): Uint8Array {
  return PostQuantum.programBytes(MapKey.bytes(account), program)
}

function schemeProblem(signature: Signature): string | undefined {
  return PostQuantum.isSupported(signature) ? undefined : 'pq signature scheme not supported'
}

function addressProblem(signature: Signature, authorizer: MapKey.MapKey): string | undefined {
  const derived = MapKey.of(PostQuantum.address(signature))
  if (derived === authorizer) return undefined
  const addresses = `derived ${MapKey.address(derived)}, expected ${MapKey.address(authorizer)}`
  return `pq signature authorizer mismatch: ${addresses}`
}

function signatureProblem({ pk, sig }: Signature, message: Uint8Array): string | undefined {
  if (sig === undefined) return 'pq signature is empty'
  const invalid = 'invalid falcon-1024 signature'
  const bytes = pk?.length ?? 0
  if (bytes !== PostQuantum.publicKeyBytes) {
    return `${invalid}: public key size ${bytes}, want ${PostQuantum.publicKeyBytes}`
  }
  const failure = PostQuantum.check(message, sig, pk!)
  return failure === undefined ? undefined : `${invalid}: error code ${errorCodes[failure]}: falcon verify failed`
}
