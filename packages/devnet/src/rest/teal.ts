/** Compiles and disassembles programs. */
import type { RawAnswer } from '@latchkey/http'
import { LedgerError } from '../ledger/LedgerError.js'
import * as avm from '../ledger/programs/avm.js'
import { run } from '../ledger/programs/Dryrun.js'
import { ApiError } from './ApiError.js'
import * as DryrunRequest from './DryrunRequest.js'
import { responseOf } from './dryrunValue.js'
import type { Value } from './HttpResponse.js'
import * as HttpResponse from './HttpResponse.js'
import type { Route, RouteContext } from './Route.js'

export const tealRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v2/teal/compile',
    summary: 'Compiles the source of a program',
    query: ['sourcemap'],
    handle: compile,
  },
  { method: 'POST', path: '/v2/teal/disassemble', summary: 'Disassembles a program', handle: disassemble },
  { method: 'POST', path: '/v2/teal/dryrun', summary: 'Runs the programs of a group on given state', handle: dryrun },
]

const maxSourceBytes = 512 * 1024
const maxDryrunBytes = 1_000_000

async function compile({ request, query }: RouteContext): Promise<RawAnswer> {
  const hasMap = query.flag('sourcemap')
  const source = (await bodyOf(request)).toString('utf8')
  const { assemble, AssemblyError } = await avm.load()
  try {
    const { program, address, mappings } = assemble(source)
    return HttpResponse.json({ hash: address, result: program, sourcemap: hasMap ? sourceMap(mappings) : undefined })
  } catch (error) {
    if (error instanceof AssemblyError) throw new ApiError(400, error.message)
    throw error
  }
}

/** A node writes the members in this order, and clients compare the text. */
function sourceMap(mappings: string): Value {
  const members: [string, Value][] = [
    ['version', 3],
    ['sources', ['<body>']],
    ['names', []],
    ['mappings', mappings],
  ]
  return new Map<Value, Value>(members)
}

async function disassemble({ request }: RouteContext): Promise<RawAnswer> {
  const program = await bodyOf(request)
  const { disassemble } = await avm.load()
  const { text, error } = disassemble(new Uint8Array(program))
  if (error !== undefined) throw new ApiError(400, error)
  return HttpResponse.json({ result: text })
}

async function bodyOf(request: RouteContext['request']): Promise<Buffer> {
  const body = await request.body()
  if (body.length > maxSourceBytes) throw new ApiError(400, 'http: request body too large')
  return body
}

async function dryrun({ node, request }: RouteContext): Promise<RawAnswer> {
  const body = await request.body()
  if (body.length > maxDryrunBytes) throw new ApiError(400, 'http: request body too large')
  const dryrunRequest = DryrunRequest.read(body)
  await avm.load()
  try {
    return HttpResponse.json(responseOf(run(dryrunRequest, node.ledger)))
  } catch (error) {
    if (error instanceof LedgerError) throw new ApiError(400, error.message, error.hint)
    throw error
  }
}
