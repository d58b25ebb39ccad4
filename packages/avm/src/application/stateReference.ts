/** Finds the state that an instruction names, for traces: also that of an instruction which then fails. */
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Value } from '../evaluator/Value.js'
import * as Availability from './Availability.js'
import * as ByteKey from './ByteKey.js'
import { sharedResourcesVersion } from './limits.js'
import type { Call } from './model.js'

/** The values of the stack that name a state. Without `app`, the state is that of the running application. */
export type StateOperands = {
  readonly app?: Value | undefined
  readonly account?: Value | undefined
  readonly isWritten: boolean
}

/** An application, and an account for local state. */
export type StateReference = { readonly appId: bigint; readonly account: ByteKey.ByteKey | undefined }

/** Instead of an account that a program cannot use. */
const noAccount = ''

/**
 * Returns the application and the account of a state. As on a node, a reference that cannot be resolved counts as the
 * application 0 and no account.
 */
export function stateReference(call: Call, { app, account, isWritten }: StateOperands): StateReference {
  const id = typeof app === 'bigint' ? app : 0n
  if (account === undefined) {
    if (app === undefined) return { appId: call.appId, account: undefined }
    return { appId: attempt(() => Availability.appOf(call, id, true)) ?? 0n, account: undefined }
  }
  const found = attempt(() => {
    if (app === undefined) return { address: accountOf(call, account, isWritten), id: call.appId }
    return Availability.localOf(call, account, id)
  })
  if (found !== undefined) return { appId: found.id, account: found.address }
  return { appId: app === undefined ? call.appId : 0n, account: noAccount }
}

/**
 * Uses the zero address in place of an account that could not be resolved. A node does so when it looks up the state
 * before the instruction, so a simulation that permits unnamed resources reports the zero address.
 */
export function useZeroAddress(call: Call, isWritten: boolean): void {
  const isAvailable = Availability.isAccountAvailable(call, ByteKey.zeroAddress)
  if (isAvailable && !isWritten && call.version >= sharedResourcesVersion) {
    Availability.isLocalAvailable(call, ByteKey.zeroAddress, call.appId)
  }
}

/** Before shared resources, the transaction itself had to name an account that a program changes. */
function accountOf(call: Call, reference: Value, isWritten: boolean): ByteKey.ByteKey {
  if (isWritten && call.version < sharedResourcesVersion) return Availability.mutableAccountOf(call, reference)
  return Availability.accountOf(call, reference)
}

function attempt<T>(resolve: () => T): T | undefined {
  try {
    return resolve()
  } catch (error) {
    if (error instanceof EvaluationError) return undefined
    throw error
  }
}
