/** The body of a simulation request, in msgpack or JSON. */
import { Json, Msgpack, Submission } from '@latchkey/algorand'
import { ApiError } from './ApiError.js'

export type TraceConfig = { [name in (typeof traceFlags)[number]]?: boolean }

export type SimulateRequest = {
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

export function read(body: Buffer): SimulateRequest {
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

function list<T>(reader: Msgpack.Reader, max: number, read: () => T): T[] {
  const count = reader.arrayHeader()
  if (count > max) throw new Msgpack.DecodeError(`more than ${max} in a list`)
  return Array.from({ length: count }, read)
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
