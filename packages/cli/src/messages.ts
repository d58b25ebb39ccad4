/**
 * The only module that writes to stdout and stderr. Parts of the output are untrusted: the text of a node, a receipt of
 * a seller, the name of a wallet. None of it may move the cursor, set the clipboard, reorder the line or add lines.
 * prompt.ts writes prompts, which go to the terminal itself.
 */
import { explained } from './explained.js'
import { printable, printableJson, printableLines } from './format.js'
import { wrap } from './help.js'
import { type Span, styled } from './style.js'

/** Writes a line to stderr. On a terminal, a long line is wrapped between words. */
export function printMessage(text: string): void {
  process.stderr.write(`${wrapped(printable(text), process.stderr)}\n`)
}

/** A terminal that is narrower splits words anyway. */
const minColumns = 40

/** Continuation lines are indented by two more spaces than the first line. */
function wrapped(text: string, { isTTY, columns = 0 }: { isTTY?: boolean; columns?: number }): string {
  if (isTTY !== true || columns < minColumns || text.length <= columns) return text
  const [indent = ''] = /^ */.exec(text) ?? []
  return indent + wrap(text.slice(indent.length), indent.length + 2, columns)
}

export function printWarning(text: string): void {
  printMessage(`warning: ${text}`)
}

/** Reports an error of a command that continues, such as a server. */
export function printError(command: string, error: unknown): void {
  printMessage(`latchkey ${command}: ${describe(error)}`)
}

/** How long work may take before its progress is shown. */
const progressDelayMs = 300

/** Shows `text` on a terminal while `work` takes longer than a moment, and clears it afterwards. */
export async function withProgress<T>(text: string, work: Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return work
  let clear: (() => void) | undefined
  const timer = setTimeout(() => {
    clear = printProgress(text)
  }, progressDelayMs)
  try {
    return await work
  } finally {
    clearTimeout(timer)
    clear?.()
  }
}

/** Shows a text on stderr without ending its line, and returns a function that clears it. */
function printProgress(text: string): () => void {
  const shown = `${printable(text)}...`
  process.stderr.write(shown)
  return () => void process.stderr.write(`\r${' '.repeat(shown.length)}\r`)
}

/** Writes a line to stdout. */
export function printLine(text: string): void {
  process.stdout.write(`${printable(text)}\n`)
}

/** Writes lines to stdout. An untrusted value in them must be one line: see `printable`. */
export function printResult(text: string): void {
  process.stdout.write(printableLines(text))
}

/** Writes a line to stdout, in colour if supported. */
export function printStyledLine(spans: readonly Span[]): void {
  process.stdout.write(`${styled(spans, process.stdout)}\n`)
}

/** Writes a line to stderr, in colour if supported. */
export function printStyledMessage(spans: readonly Span[]): void {
  process.stderr.write(`${styled(spans, process.stderr)}\n`)
}

/** Writes a value as one line of JSON to stdout. */
export function printJson(value: unknown): void {
  isContentPrinted = true
  process.stdout.write(`${printableJson(value)}\n`)
}

/** Resolves when stdout and stderr have accepted all output. @throws if one of them is full or closed */
export async function allPrinted(): Promise<void> {
  const taken = (stream: NodeJS.WriteStream): Promise<void> =>
    new Promise((resolve, reject) => stream.write('', (error) => (error ? reject(error) : resolve())))
  await Promise.all([taken(process.stdout), taken(process.stderr)])
}

let isContentPrinted = false

/** Whether content was written to stdout: the body of a response, or a result as JSON. */
export function hasPrintedContent(): boolean {
  return isContentPrinted
}

/** Called before a command, because a process may run several. */
export function expectContent(): void {
  isContentPrinted = false
}

/** Writes bytes to stdout unchanged. Called only if stdout is not a terminal. */
export function printBytes(bytes: Uint8Array): Promise<void> {
  if (bytes.length > 0) isContentPrinted = true
  return new Promise((resolve) => process.stdout.write(bytes, () => resolve()))
}

export type ContentPrinter = {
  /** Resolves when stdout accepts more. */
  readonly write: (bytes: Uint8Array) => Promise<void>
  readonly end: () => Promise<void>
}

/**
 * Writes untrusted content to stdout, piece by piece: bytes to a file or a pipe, printable text to a terminal, on which
 * the prompt of the shell then starts on a new line.
 */
export function contentPrinter(): ContentPrinter {
  const isTerminal = process.stdout.isTTY === true
  const decoder = new TextDecoder()
  let rest = ''
  let last = '\n'
  const show = (decoded: string, isEnd: boolean): Promise<void> => {
    const text = rest + decoded
    // A carriage return at the end of a piece may be the first half of a line break.
    rest = !isEnd && text.endsWith('\r') ? '\r' : ''
    const shown = printableLines(text.slice(0, text.length - rest.length).replaceAll('\r\n', '\n'), '\t')
    last = shown.at(-1) ?? last
    return shown === '' ? Promise.resolve() : printBytes(Buffer.from(shown))
  }
  return {
    write: (bytes) => (isTerminal ? show(decoder.decode(bytes, { stream: true }), false) : printBytes(bytes)),
    end: async () => {
      if (!isTerminal) return
      await show(decoder.decode(), true)
      if (last !== '\n') await printBytes(Buffer.from('\n'))
    },
  }
}

/** Ends the process on an uncaught error, with its stack. Node would print errors and warnings unescaped. */
export function reportCrashes(command: string, exitCode: number): void {
  // There are no warnings with NODE_NO_WARNINGS.
  if (process.listenerCount('warning') > 0) {
    process.removeAllListeners('warning')
    process.on('warning', ({ name, message }) => printMessage(`${command}: ${name}: ${message}`))
  }
  process.once('uncaughtException', (error: unknown) => {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
    for (const line of stack.split('\n')) printMessage(`${command}: ${line}`)
    process.exit(exitCode)
  })
}

/** Describes what happened and what to do, in one line. */
export function describe(error: unknown): string {
  const { message, hint } = explained(error)
  return withHint(message, hint)
}

export function withHint(text: string, hint: string | undefined): string {
  if (hint === undefined || hint === '') return text
  if (/[.?!]$/.test(text)) return `${text} ${hint}`
  return /^[A-Z]/.test(hint) ? `${text}. ${hint}` : `${text}; ${hint}`
}
