/** Simulates a group. */
import type { Submission } from '@latchkey/algorand'
import type { RawAnswer } from '@latchkey/http'
import type { DevnetNode } from '../DevnetNode.js'
import * as Consensus from '../ledger/Consensus.js'
import * as Fees from '../ledger/Fees.js'
import { LedgerError, submitText } from '../ledger/LedgerError.js'
import * as MapKey from '../ledger/MapKey.js'
import * as avm from '../ledger/programs/avm.js'
import type { TraceOptions, TransactionTrace } from '../ledger/programs/Trace.js'
import type { SimulationResult } from '../ledger/Simulation.js'
import { ApiError } from './ApiError.js'
import { resultOf } from './effectsValue.js'
import * as HttpResponse from './HttpResponse.js'
import { SignedBytes, type Value } from './ResponseValue.js'
import type { Route, RouteContext } from './Route.js'
import * as SimulateRequest from './SimulateRequest.js'
import { initialStatesValue, traceValue } from './traceValue.js'
import { unnamedValue } from './unnamedValue.js'

export const simulateRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v2/transactions/simulate',
    summary: 'Simulates a group',
    query: ['format'],
    handle: simulate,
  },
]

const maxBodyBytes = 1_000_000
const maxExtraOpcodeBudget = 320_000n
const moreLogging = { maxLogCalls: 2_048, maxLogBytes: 65_536 }

async function simulate({ node, request, query }: RouteContext): Promise<RawAnswer> {
  const body = await request.body()
  if (body.length > maxBodyBytes) throw new ApiError(400, 'http: request body too large')
  const simulation = SimulateRequest.read(body)
  const group = checkRequest(simulation, node)
  const result = await avm.withPrograms(() => run(simulation, group, node))
  // As on a node, the format is read last.
  return HttpResponse.inFormat(responseOf(simulation, group, result, node), query.format())
}

const fail = (message: string): never => {
  throw new ApiError(400, message)
}

/** Checks the options in the order of a node, and returns the one group. */
function checkRequest({ groups, round, flags, trace }: SimulateRequest.SimulateRequest, node: DevnetNode) {
  const { maxGroupSize } = Consensus
  for (const { length } of groups) {
    if (length === 0) fail('empty txgroup')
    if (length > maxGroupSize) fail(`transaction group size ${length} exceeds protocol max ${maxGroupSize}`)
  }
  if (flags['fix-signers'] && !flags['allow-empty-signatures']) {
    fail('FixSigners requires AllowEmptySignatures to be enabled')
  }
  const [group] = groups
  if (group === undefined || groups.length > 1) return fail(`expected 1 transaction group, got ${groups.length}`)
  const last = node.ledger.last.round
  if (round !== 0n && round !== last) {
    // Only the latest state is kept, so an earlier round is unavailable, like a later one.
    throw new ApiError(500, `ledger does not have entry ${round} (latest ${last}, committed ${last})`)
  }
  if (!trace.enable) {
    if (trace['stack-change']) fail('basic trace must be enabled when enabling stack tracing')
    if (trace['scratch-change']) fail('basic trace must be enabled when enabling scratch slot change tracing')
    if (trace['state-change']) fail('basic trace must be enabled when enabling app state change tracing')
  }
  return group
}

/** Checked only if the transactions and their signatures are valid. */
function checkBudget(extraOpcodeBudget: bigint, { failure }: SimulationResult): void {
  if (extraOpcodeBudget <= maxExtraOpcodeBudget || failure?.isStateless) return
  fail(`extra budget ${extraOpcodeBudget} > simulation extra budget limit ${maxExtraOpcodeBudget}`)
}

function run(
  { flags, extraOpcodeBudget, trace }: SimulateRequest.SimulateRequest,
  group: readonly Submission.Decoded[],
  { ledger }: DevnetNode,
) {
  try {
    const result = ledger.simulate(group, {
      allowsEmptySignatures: flags['allow-empty-signatures'] ?? false,
      fixesSigners: flags['fix-signers'] ?? false,
      trace: trace.enable ? traceOptions(trace) : undefined,
      limits: {
        extraBudget: extraOpcodeBudget > maxExtraOpcodeBudget ? 0 : Number(extraOpcodeBudget),
        allowsUnnamedResources: flags['allow-unnamed-resources'] ?? false,
        ...(flags['allow-more-logging'] && moreLogging),
      },
    })
    checkBudget(extraOpcodeBudget, result)
    return result
  } catch (error) {
    if (error instanceof LedgerError) throw new ApiError(400, submitText(error), error.hint)
    throw error
  }
}

function traceOptions(trace: SimulateRequest.TraceConfig): TraceOptions {
  return {
    stack: trace['stack-change'] ?? false,
    scratch: trace['scratch-change'] ?? false,
    state: trace['state-change'] ?? false,
  }
}

function responseOf(
  simulation: SimulateRequest.SimulateRequest,
  group: readonly Submission.Decoded[],
  result: SimulationResult,
  { ledger }: DevnetNode,
): Value {
  const { failure, outcomes, fixedSigners, logicCosts, traces, calls } = result
  const transactions = group.map(({ signed }) => signed)
  const innerFees = calls?.innerFees ?? new Map<number, bigint>()
  const fees = [...innerFees.values()].reduce((sum, fee) => sum + fee, Fees.paid(transactions))
  return {
    'eval-overrides': overridesOf(simulation),
    'exec-trace-config': isNone(simulation.trace) ? undefined : { ...onlySet(simulation.trace) },
    'initial-states': simulation.trace['state-change'] ? initialStatesValue(calls?.initialStates) : undefined,
    'last-round': ledger.last.round,
    'txn-groups': [
      {
        'app-budget-added': calls?.group.budgetAdded || undefined,
        'app-budget-consumed': calls?.group.budgetConsumed || undefined,
        'failed-at': failure?.path,
        'failure-message': failure?.message,
        'group-fees-paid': fees || undefined,
        'group-usage': Fees.groupUsage(transactions) + (calls?.innerUsage ?? 0n),
        'txn-results': group.map(({ bytes, signed }, index) => ({
          'app-budget-consumed': calls?.costs.get(index),
          'exec-trace': optional(traces.get(index), nonEmptyTrace),
          'fees-paid': (signed.txn.fee ?? 0n) + (innerFees.get(index) ?? 0n) || undefined,
          'fixed-signer': optional(fixedSigners.get(index), MapKey.address),
          'logic-sig-budget-consumed': logicCosts.get(index) || undefined,
          'txn-result': resultOf(new SignedBytes(bytes, signed), outcomes[index] ?? {}),
          'unnamed-resources-accessed': unnamedValue(calls?.group.unnamed?.transactions[index]),
        })),
        'unnamed-resources-accessed': unnamedValue(calls?.group.unnamed?.group),
      },
    ],
    version: 2,
  }
}

/** A call that runs no program has no trace. */
function nonEmptyTrace(trace: TransactionTrace): Value | undefined {
  const { logic, approval, clearState } = trace
  return logic === undefined && approval === undefined && clearState === undefined ? undefined : traceValue(trace)
}

function optional<T>(value: T | undefined, write: (value: T) => Value | undefined): Value | undefined {
  return value === undefined ? undefined : write(value)
}

function overridesOf({ flags, extraOpcodeBudget }: SimulateRequest.SimulateRequest): Value | undefined {
  const overrides = {
    'allow-empty-signatures': flags['allow-empty-signatures'] || undefined,
    'allow-unnamed-resources': flags['allow-unnamed-resources'] || undefined,
    'extra-opcode-budget': extraOpcodeBudget || undefined,
    'fix-signers': flags['fix-signers'] || undefined,
    'max-log-calls': flags['allow-more-logging'] ? moreLogging.maxLogCalls : undefined,
    'max-log-size': flags['allow-more-logging'] ? moreLogging.maxLogBytes : undefined,
  }
  return isNone(overrides) ? undefined : overrides
}

function onlySet(trace: SimulateRequest.TraceConfig): { [name: string]: boolean } {
  return Object.fromEntries(Object.entries(trace).filter(([, on]) => on))
}

function isNone(members: { readonly [name: string]: unknown }): boolean {
  return Object.values(members).every((member) => member === undefined || member === false)
}
