/** Prints the events of a stack, one line each, at a rate that a person can follow. */
import { printStyledMessage } from '../messages.js'
import type { Span, Style } from '../style.js'

/** The programs of a stack, with the names of the README. */
export type Part = 'seller' | 'facilitator' | 'key daemon' | 'devnet'
export type EventKind = 'done' | 'refused' | 'note'
export type StackEvent = { readonly part: Part; readonly kind: EventKind; readonly text: string }
export type OnEvent = (event: StackEvent) => void

const maxTextLength = 160
/** The maximum per second; further lines are only counted. */
const maxLines = 20
const windowMs = 1_000
const styles: { readonly [kind in EventKind]: Style | undefined } = { done: 'green', refused: 'red', note: undefined }

export type EventPrinterOptions = {
  /** @default stderr */
  readonly print?: ((spans: readonly Span[]) => void) | undefined
  /** @default the time of day */
  readonly now?: (() => Date) | undefined
}

export class EventPrinter {
  readonly #print: (spans: readonly Span[]) => void
  readonly #now: () => Date
  #isOpen = false
  #printed = 0
  #passedOver = 0
  #window: NodeJS.Timeout | undefined

  constructor({ print = printStyledMessage, now = () => new Date() }: EventPrinterOptions = {}) {
    this.#print = print
    this.#now = now
  }

  /** Starts printing. Earlier events belong to the start. */
  open(): void {
    // If the reader is gone, printing ends but the stack continues.
    process.stderr.once('error', () => this.close())
    this.#isOpen = true
  }

  close(): void {
    this.#isOpen = false
    clearTimeout(this.#window)
  }

  readonly onEvent: OnEvent = ({ part, kind, text }) => {
    if (!this.#isOpen) return
    this.#window ??= setTimeout(() => this.#endWindow(), windowMs).unref()
    if (this.#printed >= maxLines) {
      this.#passedOver++
      return
    }
    this.#printed++
    const bounded = text.length > maxTextLength ? `${text.slice(0, maxTextLength - 1)}…` : text
    const style = styles[kind]
    this.#line(part, style === undefined ? bounded : [style, bounded])
  }

  #endWindow(): void {
    const count = this.#passedOver
    this.#window = undefined
    this.#printed = 0
    this.#passedOver = 0
    if (count > 0 && this.#isOpen) this.#line('', ['dim', `${count} more in this second`])
  }

  #line(part: Part | '', text: Span): void {
    const time = this.#now().toTimeString().slice(0, 8)
    this.#print([['dim', time], `  ${part.padEnd(13)}`, text])
  }
}
