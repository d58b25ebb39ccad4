/** Operations that verify signatures and proofs. */
import { Hash, Program } from '@latchkey/algorand'
import * as PostQuantum from '@latchkey/algorand/post-quantum'
import { ed25519 } from '@noble/curves/ed25519.js'
import * as Ecdsa from '../crypto/Ecdsa.js'
import * as Vrf from '../crypto/Vrf.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import { fromBoolean } from '../evaluator/Value.js'
import * as Fields from '../opcodes/Fields.js'
import { type Operations, pure } from './Operation.js'

const hashBytes = 32
const maxRecoveryId = 3n

/** Signatures. */
export const signatures: Operations = {
  ed25519verify: (machine) => {
    pure((data: Uint8Array, signature: Uint8Array, key: Uint8Array) => {
      expectLengths(signature, key)
      const message = Hash.prefixed(Hash.domains.programData, Program.address(machine.program), data)
      return fromBoolean(verifyEd25519(message, signature, key))
    })(machine)
  },
  ed25519verify_bare: pure((data: Uint8Array, signature: Uint8Array, key: Uint8Array) => {
    expectLengths(signature, key)
    return fromBoolean(verifyEd25519(data, signature, key))
  }),
  ecdsa_verify: (machine) => {
    const curve = curveOf(machine)
    pure((hash: Uint8Array, r: Uint8Array, s: Uint8Array, x: Uint8Array, y: Uint8Array) => {
      if (hash.length !== hashBytes) {
        throw new EvaluationError(`the signed data must be ${hashBytes} bytes long, not ${hash.length}`)
      }
      return fromBoolean(Ecdsa.verify(curve, { hash, r, s, x, y }))
    })(machine)
  },
  ecdsa_pk_decompress: (machine) => {
    const curve = curveOf(machine)
    pure((compressed: Uint8Array) => {
      const key = Ecdsa.decompress(curve, compressed)
      if (key !== undefined) return key
      throw new EvaluationError(curve === 'Secp256k1' ? 'invalid pubkey' : 'invalid compressed pubkey')
    })(machine)
  },
  ecdsa_pk_recover: (machine) => {
    const byte = machine.immediate(1)
    if (curveOf(machine) !== 'Secp256k1') throw new EvaluationError(`unsupported curve ${byte}`)
    pure((hash: Uint8Array, recovery: bigint, r: Uint8Array, s: Uint8Array) => {
      if (recovery > maxRecoveryId) throw new EvaluationError(`invalid recovery id: ${recovery}`)
      if (hash.length !== hashBytes) {
        throw new EvaluationError(`pubkey recover failed: invalid message length, need ${hashBytes} bytes`)
      }
      const key = Ecdsa.recover(hash, Number(recovery), r, s)
      if (key === undefined) throw new EvaluationError('pubkey recover failed: recovery failed')
      return key
    })(machine)
  },
  vrf_verify: (machine) => {
    const byte = machine.immediate(1)
    pure((message: Uint8Array, proof: Uint8Array, key: Uint8Array) => {
      if (proof.length !== Vrf.proofBytes) {
        throw new EvaluationError(`vrf proof wrong size ${proof.length} != ${Vrf.proofBytes}`)
      }
      if (key.length !== Vrf.keyBytes)
        throw new EvaluationError(`vrf pubkey wrong size ${key.length} != ${Vrf.keyBytes}`)
      if (Fields.withByte('vrfStandard', byte) === undefined) {
        throw new EvaluationError(`invalid VRF standard ${Fields.nameOf('vrfStandard', byte)}`)
      }
      const output = Vrf.verify(key, proof, message)
      return [output ?? new Uint8Array(Vrf.outputBytes), fromBoolean(output !== undefined)]
    })(machine)
  },
  falcon_verify: pure((data: Uint8Array, signature: Uint8Array, key: Uint8Array) => {
    if (key.length !== PostQuantum.publicKeyBytes) {
      throw new EvaluationError(`invalid public key size ${key.length} != ${PostQuantum.publicKeyBytes}`)
    }
    return fromBoolean(PostQuantum.check(data, signature, key) === undefined)
  }),
}

function expectLengths(signature: Uint8Array, key: Uint8Array): void {
  if (key.length !== 32) throw new EvaluationError('invalid public key')
  if (signature.length !== 64) throw new EvaluationError('invalid signature')
}

/**
 * Whether a signature is valid by the rule of nodes, for transactions and programs alike: the equation is multiplied by
 * the cofactor, keys of small order and numbers of the order and more are refused.
 */
export function verifyEd25519(message: Uint8Array, signature: Uint8Array, key: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, message, key, { zip215: false })
  } catch {
    return false
  }
}

/** An unknown curve has no cost, so the instruction fails before. */
function curveOf(machine: Machine): Ecdsa.CurveName {
  const byte = machine.immediate(1)
  const curve = Fields.withByte('ecdsaCurve', byte)
  if (curve === undefined || curve.version > machine.version) throw new EvaluationError(`invalid curve ${byte}`)
  return curve.name as Ecdsa.CurveName
}
