/** An assembled program before its constants and branches are laid out. */
import type { Token } from './Token.js'

/** One instruction of the program. */
export type Item = Place & Content

/** The place of an instruction in the source. */
export type Place = { readonly line: number; readonly column: number }

/** The content of an instruction. */
export type Content =
  | { readonly kind: 'plain'; readonly bytes: readonly number[] }
  | { readonly kind: 'integer'; readonly value: bigint }
  | { readonly kind: 'bytes'; readonly value: Uint8Array }
  | { readonly kind: 'branch'; readonly opcode: number; readonly target: Token }
  | { readonly kind: 'switch'; readonly opcode: number; readonly targets: readonly Token[] }

/** A message about the source. */
export type Message = Place & { readonly text: string }

/** The instructions and labels of a program, and the messages about it. */
export class Program {
  /** The version, or undefined before the first instruction or `#pragma version`. */
  version: number | undefined
  readonly items: Item[] = []
  /** Whether the opcode of an instruction was written. Its immediates may have been invalid. */
  hasOpcode = false
  /** The index of the instruction after each label. */
  readonly labels = new Map<string, number>()
  readonly errors: Message[] = []
  readonly warnings: Message[] = []

  fail({ line, column }: Place, text: string): undefined {
    this.errors.push({ line, column, text })
  }

  warn({ line, column }: Place, text: string): void {
    this.warnings.push({ line, column, text })
  }
}
