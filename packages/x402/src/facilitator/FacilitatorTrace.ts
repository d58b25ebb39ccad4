/** The spans of a facilitator. Used only where an SDK is registered. */
import * as Tracing from '@latchkey/algod/tracing'
import type { SettleResponse, VerifyResponse } from '../wire/types.js'
import type { Caller } from './Policy.js'

/** A call of a gate, inside the gate's own trace. What follows is inside of it. */
export function operation<T extends VerifyResponse | SettleResponse>(
  name: 'verify' | 'settle',
  { requestId, header }: Caller,
  work: () => Promise<T>,
): Promise<T> {
  const remote = header === undefined ? {} : { kind: 'server' as const, parent: Tracing.parentOf(header) }
  const attributes = { [Tracing.names.requestId]: requestId }
  // In the process of its gate, it is a part of the gate's request.
  const isRequest = header !== undefined
  return Tracing.span(`facilitator.${name}`, { ...remote, isRequest, attributes }, async (span) => {
    const response = await work()
    span.set({ [Tracing.names.outcome]: outcomeOf(response) })
    return response
  })
}

export function note(transactionId: string, network: string): void {
  Tracing.annotate({ [Tracing.names.payment]: transactionId, [Tracing.names.network]: network })
}

function outcomeOf(response: VerifyResponse | SettleResponse): string {
  if ('isValid' in response) return response.isValid ? 'valid' : String(response.invalidReason)
  return response.success ? 'settled' : String(response.errorReason)
}
