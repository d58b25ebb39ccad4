/** Macros: `#define NAME tokens...`. */
import * as Fields from '../opcodes/Fields.js'
import * as Instruction from '../opcodes/Instruction.js'
import type { Program } from './Program.js'
import { families, namedIntegers, pseudoInstructions } from './pseudo.js'
import type { Token } from './Token.js'

/** The most tokens that the macros of one line may expand to. */
const maxExpandedTokens = 100_000

/** The most tokens that the macros of a program may expand to. */
const maxTotalTokens = 250_000

// Each definition looks for a cycle through all others, so their number and length are limited.
const maxMacros = 1000
const maxBodyTokens = 20_000

/** The most macros that may contain one another. */
const maxDepth = 100

const allowedCharacter = /^[\p{L}\p{Nd}+\-*/^%&|~!><=?_]$/u
const encodings = new Set(['b64', 'base64', 'b32', 'base32'])

/** The macros of a program. */
export class Macros {
  readonly #bodies = new Map<string, { readonly name: Token; readonly body: readonly Token[] }>()
  #bodyTokens = 0
  #expandedTokens = 0

  has(name: string): boolean {
    return this.#bodies.has(name)
  }

  /** Defines a macro, unless its name is taken or it contains itself. */
  define(program: Program, name: Token, body: readonly Token[]): undefined {
    const problem = this.#problemWith(program, name.text)
    if (problem !== undefined) return program.fail(name, problem)
    this.#bodyTokens += body.length
    if (this.#bodies.size >= maxMacros || this.#bodyTokens > maxBodyTokens) {
      return program.fail(name, `more than ${maxMacros} macros or ${maxBodyTokens} tokens in macros`)
    }
    const previous = this.#bodies.get(name.text)
    this.#bodies.set(name.text, { name, body })
    const cycle = this.#findCycle(name.text)
    if (cycle === undefined) return
    const isTooDeep = cycle.length > maxDepth
    const reason = `macro expansion cycle discovered: ${cycle.join(' -> ')}`
    program.fail(name, isTooDeep ? `macros are nested more than ${maxDepth} deep` : reason)
    this.#bodies.delete(name.text)
    if (previous !== undefined) this.#bodies.set(name.text, previous)
  }

  /** Checks the names of macros that were defined before the version was known. */
  recheck(program: Program): boolean {
    let isValid = true
    for (const { name } of this.#bodies.values()) {
      const problem = this.#problemWith(program, name.text)
      if (problem === undefined) continue
      program.fail(name, problem)
      isValid = false
    }
    return isValid
  }

  /** Replaces the macros of a line. Returns undefined if the result is too long. */
  expand(tokens: readonly Token[]): Token[] | undefined {
    const expanded: Token[] = []
    const pending = [...tokens].reverse()
    for (;;) {
      const token = pending.pop()
      if (token === undefined) return expanded
      const macro = this.#bodies.get(token.text)
      if (macro === undefined) expanded.push(token)
      else {
        this.#expandedTokens += macro.body.length
        for (const one of [...macro.body].reverse()) pending.push(one)
      }
      if (expanded.length + pending.length > maxExpandedTokens) return undefined
      if (this.#expandedTokens > maxTotalTokens) return undefined
    }
  }

  #problemWith(program: Program, name: string): string | undefined {
    const foreign = [...name].find((character) => !allowedCharacter.test(character))
    if (foreign !== undefined) return `${foreign} character not allowed in macro name`
    if (/^[+-]?\p{Nd}/u.test(name)) return `Cannot begin macro name with number: ${name}`
    if (encodings.has(name)) return `Cannot use ${name} as macro name`
    if (namedIntegers.has(name)) return `Named constants cannot be used as macro names: ${name}`
    if (pseudoInstructions.has(name) || families.has(name)) return `Macro names cannot be pseudo-ops: ${name}`
    if (program.version !== undefined && Instruction.named(program.version, name) !== undefined) {
      return `Macro names cannot be opcodes: ${name}`
    }
    if (isField(name, program.version)) return `Macro names cannot be field names: ${name}`
    if (program.labels.has(name)) return `Labels cannot be used as macro names: ${name}`
    return undefined
  }

  /** Finds a path of macros from a macro to itself, or one that is too long. Visits each macro once. */
  #findCycle(name: string): readonly string[] | undefined {
    const visited = new Set<string>()
    const find = (current: string, path: readonly string[]): readonly string[] | undefined => {
      for (const { text } of this.#bodies.get(current)?.body ?? []) {
        if (text === name || path.length > maxDepth) return [...path, text]
        if (!this.#bodies.has(text) || visited.has(text)) continue
        visited.add(text)
        const cycle = find(text, [...path, text])
        if (cycle !== undefined) return cycle
      }
      return undefined
    }
    return find(name, [name])
  }
}

/** Whether an instruction of a version knows the name of a field, even of one of a later version. */
function isField(name: string, version: number | undefined): boolean {
  if (version === undefined) return false
  for (const instructionName of Instruction.names(version)) {
    const { immediates } = Instruction.named(version, instructionName)!
    if (immediates.some(({ group }) => group !== undefined && Fields.named(group, name) !== undefined)) return true
  }
  return false
}
