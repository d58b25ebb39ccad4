/** What would happen to a group. */

import { Submission } from '@latchkey/algorand'
import type { RawAnswer as HttpAnswer } from '@latchkey/http'
import * as Consensus from '../ledger/Consensus.js'
import * as Fees from '../ledger/Fees.js'
import * as Key from '../ledger/Key.js'
import type { SimulationResult } from '../ledger/Simulation.js'
import { submitText, TransactionRejectedError } from '../ledger/TransactionRejectedError.js'
import type { Node } from '../Node.js'
import type { Call, Route } from './Route.js'
import * as Answer from './responses.js'
import * as SimulateRequest from './SimulateRequest.js'
import { resultOf } from './transactions.js'
import type { Value } from './Value.js'

export const simulateRoutes: readonly Route[] = [
  { method: 'POST', path: '/v2/transactions/simulate', handle: simulate },
]

const maxBodyBytes = 1_000_000
const maxExtraOpcodeBudget = 320_000n

async function simulate({ node, request, query }: Call): Promise<HttpAnswer> {
  const format = query.format()
  const body = await request.body()
  if (body.length > maxBodyBytes) throw new Answer.ApiError(413, 'request body too large')
  const asked = SimulateRequest.read(body)
  const group = checkRequest(asked, node)
  return Answer.inFormat(answerOf(asked, group, run(asked, group, node), node), format)
}

/** The one group, if nothing is wrong with the question itself. */
function checkRequest({ groups, round, flags, extraOpcodeBudget, trace }: SimulateRequest.SimulateRequest, node: Node) {
  const refuse = (message: string): never => {
    throw new Answer.ApiError(400, message)
  }
  const last = node.ledger.last.round
  if (round !== 0n && round !== last) {
    // Only the latest state is kept, so that an earlier round is as much beyond reach as a later one.
    throw new Answer.ApiError(500, `ledger does not have entry ${round} (latest ${last}, committed ${last})`)
  }
  if (groups.length !== 1) refuse(`expected 1 transaction group, got ${groups.length}`)
  const [group] = groups as [Submission.Submitted[]]
  if (group.length === 0) refuse('empty txgroup')
  const { maxGroupSize } = Consensus
  if (group.length > maxGroupSize) {
    refuse(`transaction group size ${group.length} exceeds protocol max ${maxGroupSize}`)
  }
  if (flags['fix-signers'] && !flags['allow-empty-signatures']) {
    refuse('FixSigners requires AllowEmptySignatures to be enabled')
  }
  if (extraOpcodeBudget > maxExtraOpcodeBudget) {
    refuse(`extra budget ${extraOpcodeBudget} > simulation extra budget limit ${maxExtraOpcodeBudget}`)
  }
  if (!trace.enable) {
    if (trace['stack-change']) refuse('basic trace must be enabled when enabling stack tracing')
    if (trace['scratch-change']) refuse('basic trace must be enabled when enabling scratch slot change tracing')
    if (trace['state-change']) refuse('basic trace must be enabled when enabling app state change tracing')
  }
  return group
}

function run({ flags }: SimulateRequest.SimulateRequest, group: readonly Submission.Submitted[], { ledger }: Node) {
  try {
    return ledger.simulate(group, {
      allowsEmptySignatures: flags['allow-empty-signatures'] ?? false,
      fixesSigners: flags['fix-signers'] ?? false,
    })
  } catch (error) {
    if (error instanceof TransactionRejectedError) throw new Answer.ApiError(400, submitText(error), error.hint)
    throw error
  }
}

function answerOf(
  asked: SimulateRequest.SimulateRequest,
  group: readonly Submission.Submitted[],
  result: SimulationResult,
  { ledger }: Node,
): Value {
  const { failure, outcomes, fixedSigners } = result
  const isDone = failure === undefined
  const fees = group.reduce((sum, { txn }) => sum + (txn.fee ?? 0n), 0n)
  return {
    'eval-overrides': overridesOf(asked),
    'exec-trace-config': isNone(asked.trace) ? undefined : { ...onlySet(asked.trace) },
    'initial-states': asked.trace['state-change'] ? {} : undefined,
    'last-round': ledger.last.round,
    'txn-groups': [
      {
        'failed-at': failure && [failure.index],
        'failure-message': failure?.message,
        'group-fees-paid': isDone ? fees || undefined : undefined,
        'group-usage': isDone ? Fees.groupUsage(group.map(({ txn }) => txn)) : undefined,
        'txn-results': group.map((signed, index) => ({
          'fees-paid': index < outcomes.length ? signed.txn.fee : undefined,
          'fixed-signer': addressOf(fixedSigners.get(index)),
          'txn-result': resultOf(Submission.encode(signed), outcomes[index] ?? {}),
        })),
      },
    ],
    version: 2,
  }
}

function addressOf(key: Key.Key | undefined): string | undefined {
  return key && Key.address(key)
}

function overridesOf({ flags, extraOpcodeBudget }: SimulateRequest.SimulateRequest): Value | undefined {
  const overrides = {
    'allow-empty-signatures': flags['allow-empty-signatures'] || undefined,
    'allow-unnamed-resources': flags['allow-unnamed-resources'] || undefined,
    'extra-opcode-budget': extraOpcodeBudget || undefined,
    'fix-signers': flags['fix-signers'] || undefined,
    'max-log-calls': flags['allow-more-logging'] ? 2048 : undefined,
    'max-log-size': flags['allow-more-logging'] ? 65_536 : undefined,
  }
  return isNone(overrides) ? undefined : overrides
}

function onlySet(trace: SimulateRequest.TraceConfig): { [name: string]: boolean } {
  return Object.fromEntries(Object.entries(trace).filter(([, on]) => on))
}

function isNone(members: { readonly [name: string]: unknown }): boolean {
  return Object.values(members).every((member) => member === undefined || member === false)
}
