/** Random programs that can be repaired. */

/** A line of a program, and the instruction that needs it. */
export type Line = { readonly text: string; readonly step: number }

/** The step of lines that a program needs as a whole. */
export const permanent = -1

/** A program whose steps can be taken out one by one. */
export class Draft {
  readonly #header: readonly string[]
  #lines: readonly Line[]

  constructor(header: readonly string[], lines: readonly Line[]) {
    this.#header = header
    this.#lines = lines
  }

  get source(): string {
    return `${[...this.#header, ...this.#lines.map(({ text: line }) => line)].join('\n')}\n`
  }

  /** The number of steps that are left. */
  get length(): number {
    return new Set(this.#lines.map(({ step }) => step).filter((step) => step !== permanent)).size
  }

  /** Takes out the step of a line of the source, whose first is 0, and returns whether there was one. */
  removeAt(line: number): boolean {
    return this.#remove(this.#lines[line - this.#header.length]?.step ?? permanent)
  }

  /** Takes out the last step. */
  removeLast(): boolean {
    return this.#remove(this.#lines.reduce((last, { step }) => Math.max(last, step), permanent))
  }

  #remove(removed: number): boolean {
    if (removed === permanent) return false
    this.#lines = this.#lines.filter(({ step }) => step !== removed)
    return true
  }
}
