import { Bytes, Multisig } from '@latchkey/algorand'
import * as MapKey from './MapKey.js'

/** Returns why nodes refuse the form of a multisig signature, whose signatures are verified separately. */
export function multisigReason(msig: Multisig.Signature, authorizer: MapKey.MapKey): string | undefined {
  const [first] = msig.subsig
  if (first === undefined || isBlank(first)) return 'Invalid number of signatures'
  if (msig.v !== 1) return 'unknown version'
  if (msig.thr < 1 || msig.thr > msig.subsig.length) return 'Invalid threshold'
  if (MapKey.of(Multisig.address(Multisig.preimage(msig))) !== authorizer) return 'Invalid address'
  const signatures = msig.subsig.filter(({ s }) => s !== undefined).length
  return signatures < msig.thr ? 'Invalid number of signatures' : undefined
}

/** Nodes treat a first member without key and signature as the end of the list. */
function isBlank({ pk, s }: Multisig.Subsignature): boolean {
  return Bytes.isZero(pk) && s === undefined
}
