/**
 * The tracing spans of a gate: a request with its handler, from the decision to the settlement. Used only if an SDK is
 * registered.
 */
import * as Tracing from '@latchkey/algod/tracing'
import type { Admission, Decision } from '../exchange/Admission.js'
import type { GateRequest } from '../routes/GateRequest.js'

/** Decides on a request in a span, which lasts until the payment is settled or the handler has failed. */
export async function decide(
  { request, id }: GateRequest,
  route: string,
  work: () => Promise<Decision>,
): Promise<Decision> {
  const span = Tracing.start('gate.request', {
    kind: 'server',
    isRequest: true,
    parent: Tracing.parentOf((name) => request.headers.get(name)),
    attributes: { [Tracing.names.requestId]: id, 'http.route': route },
  })
  let decision: Decision
  try {
    decision = await span.run(work)
  } catch (error) {
    span.fail(error)
    throw error
  }
  if (decision.type === 'paid') return { type: 'paid', admission: tracedAdmission(span, decision.admission) }
  const status = decision.type === 'response' ? decision.response.status : undefined
  span.end({ 'http.response.status_code': status, [Tracing.names.outcome]: status === 402 ? 'refused' : 'answered' })
  return decision
}

function tracedAdmission(request: Tracing.OpenSpan, admission: Admission): Admission {
  const handler = request.run(() => Tracing.start('gate.handler', {}))
  const end = (outcome: string): void => {
    handler.end({ [Tracing.names.outcome]: outcome })
    request.end({ [Tracing.names.outcome]: outcome })
  }
  const traced: Admission = {
    ...admission,
    run: (work) => handler.run(work),
    settle: async (answer) => {
      handler.end({ [Tracing.names.outcome]: 'served' })
      try {
        const result = await request.run(() => admission.settle(answer))
        end('response' in result ? 'not_settled' : 'settled')
        return result
      } catch (error) {
        request.fail(error)
        throw error
      }
    },
    cancel: async (reason) => {
      end('cancelled')
      await request.run(() => admission.cancel(reason))
    },
    disconnected: async () => {
      await request.run(() => admission.disconnected())
      end('disconnected')
    },
  }
  // The end of a stream is not always reported, and its payment is already settled.
  if (admission.isStreamed) end('settled')
  return traced
}
