/** The tracing spans of a facilitator, if an SDK is registered. */
import * as Tracing from '@latchkey/algod/tracing'
import type { SettleResponse, VerifyResponse } from '@latchkey/x402-wire'
import type { Caller } from './limits/Policy.js'

/** Traces a gate's call as part of the gate's own trace. Later spans are nested in this one. */
export function operation<T extends VerifyResponse | SettleResponse>(
  name: 'verify' | 'settle',
  { requestId, header }: Caller,
  work: () => Promise<T>,
): Promise<T> {
  if (!Tracing.isOn()) return work()
  const remote = header === undefined ? {} : { kind: 'server' as const, parent: Tracing.parentOf(header) }
  const attributes = { [Tracing.names.requestId]: requestId }
  // In the gate's own process, the call is a part of the gate's request.
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
