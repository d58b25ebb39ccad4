/** Simulates a group. */
import { Json, Msgpack, Submission } from '@latchkey/algorand'
import type { UnnamedSet } from '@latchkey/avm'
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
import { SignedBytes, type Value } from './HttpResponse.js'
import * as ReferenceOrder from './ReferenceOrder.js'
import type { References } from './ReferencePacker.js'
import type { Route, RouteContext } from './Route.js'
import { initialStatesValue, traceValue } from './traceValue.js'

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
  const simulation = readRequest(body)
  const group = checkRequest(simulation, node)
  const result = await avm.withPrograms(() => run(simulation, group, node))
  // As on a node, the format is read last.
  return HttpResponse.inFormat(responseOf(simulation, group, result, node), query.format())
}

const fail = (message: string): never => {
  throw new ApiError(400, message)
}

/** Checks the options in the order of a node, and returns the one group. */
function checkRequest({ groups, round, flags, trace }: SimulateRequest, node: DevnetNode) {
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
  { flags, extraOpcodeBudget, trace }: SimulateRequest,
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

function traceOptions(trace: TraceConfig): TraceOptions {
  return {
    stack: trace['stack-change'] ?? false,
    scratch: trace['scratch-change'] ?? false,
    state: trace['state-change'] ?? false,
  }
}

function responseOf(
  simulation: SimulateRequest,
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
          'unnamed-resources-accessed': ofUsed(calls?.group.unnamed?.transactions[index], ReferenceOrder.sorted),
        })),
        'unnamed-resources-accessed': ofUsed(calls?.group.unnamed?.group, (set) =>
          ReferenceOrder.packable(
            set,
            transactions.map(({ txn }) => txn),
          ),
        ),
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

function overridesOf({ flags, extraOpcodeBudget }: SimulateRequest): Value | undefined {
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

function onlySet(trace: TraceConfig): { [name: string]: boolean } {
  return Object.fromEntries(Object.entries(trace).filter(([, on]) => on))
}

function isNone(members: { readonly [name: string]: unknown }): boolean {
  return Object.values(members).every((member) => member === undefined || member === false)
}

/**
 * The resources that programs used although the group does not name them. Empty members are omitted, and so is the
 * whole if all are empty.
 */
function unnamedValue(references: References | undefined): Value | undefined {
  if (references === undefined) return undefined
  const { accounts, assets, apps, holdings, locals, boxes, extraBoxReferences } = references
  return {
    accounts: listed(accounts.map(MapKey.address)),
    'app-locals': listed(locals.map(({ address, id }) => ({ account: MapKey.address(address), app: id }))),
    apps: listed(apps),
    'asset-holdings': listed(holdings.map(({ address, id }) => ({ account: MapKey.address(address), asset: id }))),
    assets: listed(assets),
    boxes: listed(boxes.map(({ appId, name }) => ({ app: appId, name: MapKey.bytes(name) }))),
    'extra-box-refs': extraBoxReferences || undefined,
  }
}

/** Applies a function to a set of resources, unless there is none. */
function ofUsed(set: UnnamedSet | undefined, order: (set: UnnamedSet) => References): Value | undefined {
  return unnamedValue(set === undefined || set.isEmpty ? undefined : order(set))
}

function listed(values: readonly Value[]): Value | undefined {
  return values.length === 0 ? undefined : values
}

type TraceConfig = { [name in (typeof traceFlags)[number]]?: boolean }

type SimulateRequest = {
  groups: Submission.Decoded[][]
  round: bigint
  flags: { [name in (typeof flags)[number]]?: boolean }
  extraOpcodeBudget: bigint
  trace: TraceConfig
}

const flags = ['allow-empty-signatures', 'allow-more-logging', 'allow-unnamed-resources', 'fix-signers'] as const
const traceFlags = ['enable', 'scratch-change', 'stack-change', 'state-change'] as const
/** Limits on the input; both are above the accepted maximum. */
const maxGroupsRead = 100
const maxTransactionsRead = 100

const nil = 0xc0

function readRequest(body: Buffer): SimulateRequest {
  if (body.length === 0) throw new ApiError(400, 'failed to decode object: EOF')
  try {
    // A node reads nil as a request without members.
    if (body[0] === nil) return emptyRequest()
    // No JSON text begins with a byte that begins a msgpack map.
    return (body[0]! & 0x80) !== 0 ? readMsgpack(new Msgpack.Reader(body)) : readJson(body.toString('utf8'))
  } catch (error) {
    if (error instanceof Msgpack.DecodeError || error instanceof SyntaxError) {
      throw new ApiError(400, `failed to decode object: ${error.message}`)
    }
    throw error
  }
}

function emptyRequest(): SimulateRequest {
  return { groups: [], round: 0n, flags: {}, extraOpcodeBudget: 0n, trace: {} }
}

function readMsgpack(reader: Msgpack.Reader): SimulateRequest {
  const request = emptyRequest()
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    if (reader.tryNil()) continue
    if (name === 'txn-groups') request.groups = list(reader, maxGroupsRead, () => readGroup(reader))
    else if (name === 'round') request.round = reader.uint()
    else if (name === 'extra-opcode-budget') request.extraOpcodeBudget = reader.uint()
    else if (name === 'exec-trace-config') request.trace = readTrace(reader)
    else request.flags[oneOf(flags, name)] = reader.bool()
  }
  return request
}

function readTrace(reader: Msgpack.Reader): TraceConfig {
  const trace: TraceConfig = {}
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = oneOf(traceFlags, reader.str())
    if (!reader.tryNil()) trace[name] = reader.bool()
  }
  return trace
}

function readGroup(reader: Msgpack.Reader): Submission.Decoded[] {
  let transactions: Submission.Decoded[] = []
  for (let left = reader.mapHeader(); left > 0; left--) {
    oneOf(['txns'], reader.str())
    if (!reader.tryNil()) transactions = list(reader, maxTransactionsRead, () => readTransaction(reader))
  }
  return transactions
}

function readTransaction(reader: Msgpack.Reader): Submission.Decoded {
  const decoded = Submission.decodeFirst(reader.bytes, reader.position)
  reader.position = decoded.end
  return decoded
}

function list<T>(reader: Msgpack.Reader, max: number, readRequest: () => T): T[] {
  const count = reader.arrayHeader()
  if (count > max) throw new Msgpack.DecodeError(`more than ${max} in a list`)
  return Array.from({ length: count }, readRequest)
}

function readJson(text: string): SimulateRequest {
  const request = emptyRequest()
  const parsed = Json.parse(text)
  if (parsed === null) return request
  for (const [name, value] of members(parsed)) {
    if (name === 'txn-groups') request.groups = elements(value, maxGroupsRead).map(groupFromJson)
    else if (name === 'round') request.round = integer(name, value)
    else if (name === 'extra-opcode-budget') request.extraOpcodeBudget = integer(name, value)
    else if (name === 'exec-trace-config') {
      request.trace = Object.fromEntries(members(value).map(([flag, on]) => [oneOf(traceFlags, flag), bool(flag, on)]))
    } else request.flags[oneOf(flags, name)] = bool(name, value)
  }
  return request
}

function groupFromJson(value: unknown): Submission.Decoded[] {
  const transactions = members(value).map(([name, list]) => {
    oneOf(['txns'], name)
    return elements(list, maxTransactionsRead).map((one) => Submission.withBytes(Submission.fromJson(one)))
  })
  return transactions.flat()
}

/** The members of an object except those that are null. */
function members(value: unknown): [string, unknown][] {
  if (!Json.isObject(value)) throw new SyntaxError('expected an object')
  return Object.entries(value).filter(([, member]) => member !== null)
}

function elements(value: unknown, max: number): unknown[] {
  if (!Array.isArray(value)) throw new SyntaxError('expected a list')
  if (value.length > max) throw new SyntaxError(`more than ${max} in a list`)
  return value
}

function integer(name: string, value: unknown): bigint {
  const uint = Json.uint64(value)
  if (uint === undefined) throw new SyntaxError(`${name} is not an unsigned integer`)
  return uint
}

function bool(name: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new SyntaxError(`${name} is neither true nor false`)
  return value
}

function oneOf<const T extends string>(names: readonly T[], name: string): T {
  const known = names.find((one) => one === name)
  if (known === undefined) throw new SyntaxError(`no matching struct field found with key ${name.slice(0, 100)}`)
  return known
}
