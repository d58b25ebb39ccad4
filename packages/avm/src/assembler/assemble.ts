/** Assembles programs in the assembly language TEAL. */
import { Address, LatchkeyError, Program as Programs } from '@latchkey/algorand'
import { errors } from '../errors.js'
import { Directives } from './Directives.js'
import * as Layout from './Layout.js'
import { Macros } from './Macros.js'
import { type Message, Program } from './Program.js'
import * as SourceMap from './SourceMap.js'
import { StatementAssembler } from './StatementAssembler.js'
import * as Token from './Token.js'
import { TypeTracker } from './TypeTracker.js'

/** An assembled program. */
export type Assembly = {
  readonly program: Uint8Array
  /** The address of the program as a logic signature. */
  readonly address: string
  /** The `mappings` of a version 3 source map, one entry for each byte of the program. */
  readonly mappings: string
  readonly warnings: readonly Message[]
}

const maxLineBytes = 65_536
/** Sixty times the longest program: room for names and comments. */
const maxSourceLength = 1_048_576
/** A program without instructions and version: the largest version. */
const emptyProgram = Uint8Array.from([255, 255, 255, 255, 255, 255, 255, 255, 255, 1])

/**
 * Assembles a program.
 *
 * @throws AssemblyError with every error of the source.
 *
 * @example
 * const { program } = assemble('#pragma version 10\nint 1')
 */
export function assemble(source: string): Assembly {
  const program = new Program()
  if (source.trim() === '') {
    program.fail({ line: 0, column: 0 }, 'Cannot assemble empty program text')
    throw new AssemblyError(program)
  }
  if (source.length > maxSourceLength) {
    program.fail({ line: 0, column: 0 }, `source is longer than ${maxSourceLength} characters`)
    throw new AssemblyError(program)
  }
  const types = new TypeTracker()
  const macros = new Macros()
  const statements = new StatementAssembler(program, types, macros)
  const directives = new Directives(program, types, macros)
  const lines = source.split('\n')
  for (const [index, raw] of lines.entries()) {
    if (raw.length >= maxLineBytes) {
      program.fail({ line: 0, column: 0 }, 'line too long')
      break
    }
    const tokens = Token.split(raw.endsWith('\r') ? raw.slice(0, -1) : raw, index + 1)
    if (tokens[0]?.text.startsWith('#') === true) directives.apply(tokens)
    else assembleLine(tokens)
  }

  function assembleLine(tokens: readonly Token.Token[]): void {
    const expanded = macros.expand(tokens)
    if (expanded === undefined) {
      program.fail(tokens[0]!, 'macros expand to too many tokens')
      return
    }
    let start = 0
    for (let index = 0; index <= expanded.length; index++) {
      if (index < expanded.length && expanded[index]!.text !== ';') continue
      const statement = expanded.slice(start, index)
      start = index + 1
      if (statement.length === 0) continue
      directives.decideVersion()
      statements.assemble(statement)
    }
  }

  return finish(program, directives, statements)
}

function finish(program: Program, directives: Directives, statements: StatementAssembler): Assembly {
  const { version } = program
  if (version === undefined && program.errors.length === 0) {
    return withAddress(program, emptyProgram.slice(), '')
  }
  const { autosalt, autosaltPlace } = directives
  const wantsSalt = autosalt ?? (version! >= Layout.variableBranchVersion && !statements.isStateful)
  const { bytes, places } = Layout.layOut(program, version ?? 1, wantsSalt)
  if (program.errors.length > 0) throw new AssemblyError(program)
  if (autosalt === true && statements.isStateful) {
    program.warn(autosaltPlace!, '#pragma autosalt true used with stateful opcodes')
  }
  if (autosalt === false && !statements.isStateful && Layout.isOnCurve(bytes)) {
    program.warn(autosaltPlace!, '#pragma autosalt false leaves program hash on curve')
  }
  return withAddress(program, bytes, SourceMap.encode(places))
}

function withAddress({ warnings }: Program, program: Uint8Array, mappings: string): Assembly {
  return { program, address: Address.encode(Programs.address(program)), mappings, warnings }
}

const maxReported = 10

/** The source has errors. The message lists them as `POST /v2/teal/compile` does. */
export class AssemblyError extends LatchkeyError<'assembly_failed'> {
  override name = 'AssemblyError'
  readonly errors: readonly Message[]
  readonly warnings: readonly Message[]

  constructor({ errors: messages, warnings }: Program) {
    super('assembly_failed', report(messages, warnings), { hint: errors.assembly_failed.hint })
    this.errors = messages
    this.warnings = warnings
  }
}

function report(messages: readonly Message[], warnings: readonly Message[]): string {
  if (messages.length === 1 && warnings.length === 0) return `1 error: ${lineOf(messages[0]!)}\n`
  return [...messages.slice(0, maxReported), ...warnings.slice(0, maxReported)]
    .map((message) => `${lineOf(message)}\n`)
    .join('')
}

function lineOf({ line, column, text }: Message): string {
  return column === 0 ? `${line}: ${text}` : `${line}:${column}: ${text}`
}
