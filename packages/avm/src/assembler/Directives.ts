/** Directives: `#pragma` and `#define`. */
import { quote } from '../encoding/quote.js'
import { maxAssemblerVersion } from '../opcodes/Instruction.js'
import { parseInteger } from './Literal.js'
import type { Macros } from './Macros.js'
import type { Place, Program } from './Program.js'
import type { Token } from './Token.js'
import type { TypeTracker } from './TypeTracker.js'

const defaultVersion = 1

/** Applies the directives of one program. */
export class Directives {
  /** The value of `#pragma autosalt`, or undefined without it. */
  autosalt: boolean | undefined
  autosaltPlace: Place | undefined
  readonly #program: Program
  readonly #types: TypeTracker
  readonly #macros: Macros

  constructor(program: Program, types: TypeTracker, macros: Macros) {
    this.#program = program
    this.#types = types
    this.#macros = macros
  }

  /** Applies the directive of a line. */
  apply(tokens: readonly Token[]): void {
    const directive = tokens[0]!
    const name = directive.text.slice(1)
    if (name === 'pragma') this.#pragma(tokens)
    else if (name === 'define') this.#define(tokens)
    else this.#program.fail(directive, `unknown directive: ${name}`)
  }

  /** Takes the default version, if none was given before the first statement. */
  decideVersion(): void {
    if (this.#program.version !== undefined) return
    this.#program.version = defaultVersion
    this.#macros.recheck(this.#program)
  }

  #define([directive, name, ...body]: readonly Token[]): void {
    if (name === undefined || body.length === 0) {
      this.#program.fail(name ?? directive!, 'define directive requires a name and body')
    } else {
      this.#macros.define(this.#program, name, body)
    }
  }

  #pragma(tokens: readonly Token[]): undefined {
    const [directive, key] = tokens
    switch (key?.text) {
      case undefined:
        return this.#program.fail(directive!, 'empty pragma')
      case 'version':
        return this.#version(tokens)
      case 'typetrack':
      case 'autosalt':
        return this.#flag(tokens, key!.text as 'typetrack' | 'autosalt')
      default:
        return this.#program.fail(directive!, `unsupported pragma directive: ${quote(key!.text)}`)
    }
  }

  #version(tokens: readonly Token[]): undefined {
    const [directive, key, value] = tokens
    if (value === undefined) return this.#program.fail(key!, 'no version value')
    if (!this.#expectEnd(tokens)) return
    if (this.#hasInstructions) {
      return this.#program.fail(directive!, '#pragma version is only allowed before instructions')
    }
    const parsed = parseInteger(value.text)
    if (typeof parsed !== 'bigint') return this.#program.fail(value, `bad #pragma version: ${quote(value.text)}`)
    const version = Number(parsed)
    if (version > maxAssemblerVersion) return this.#program.fail(value, `unsupported version: ${parsed}`)
    const current = this.#program.version
    if (current === undefined) {
      this.#program.version = version
      if (!this.#macros.recheck(this.#program)) {
        this.#program.fail(value, 'version is incompatible with defined macros')
      }
    } else if (current !== version) {
      this.#program.fail(value, `version mismatch: assembling v${version} with v${current} assembler`)
    }
  }

  #flag(tokens: readonly Token[], name: 'typetrack' | 'autosalt'): undefined {
    const [directive, key, value] = tokens
    if (value === undefined) return this.#program.fail(key!, `no ${name} value`)
    if (!this.#expectEnd(tokens)) return
    if (name === 'autosalt' && this.#hasInstructions) {
      return this.#program.fail(directive!, `#pragma ${name} is only allowed before instructions`)
    }
    const isOn = /^(1|t|T|true|TRUE|True)$/.test(value.text)
    if (!isOn && !/^(0|f|F|false|FALSE|False)$/.test(value.text)) {
      return this.#program.fail(value, `bad #pragma ${name}: ${quote(value.text)}`)
    }
    if (name === 'typetrack') {
      this.#types.enable(isOn)
    } else {
      this.autosalt = isOn
      this.autosaltPlace = directive
    }
  }

  get #hasInstructions(): boolean {
    return this.#program.items.length > 0 || this.#program.hasOpcode
  }

  #expectEnd(tokens: readonly Token[]): boolean {
    const extra = tokens.slice(3)
    if (extra.length === 0) return true
    this.#program.fail(extra[0]!, `unexpected extra tokens: ${extra.map(({ text }) => text).join(' ')}`)
    return false
  }
}
