/**
 * Prompts on the terminal. They use /dev/tty even if stdin, stdout and stderr are pipes, so that
 * `latchkey key list > file` shows its prompt, and the file contains only the output.
 */
import { openSync, readSync, writeSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { ReadStream } from 'node:tty'
import { CommandError, UsageError } from './errors.js'
import { printable } from './format.js'
import { LineEditor } from './LineEditor.js'

type Terminal = { fd: number; input: ReadStream }

let opened: Terminal | undefined
/** Input that was typed or pasted after the line that a prompt read. */
let typedAhead = ''

export function hasTerminal(): boolean {
  return terminal() !== undefined
}

/** Prints to the terminal, regardless of where stderr goes. */
export function printNotice(text: string): void {
  const found = terminal()
  if (found !== undefined) show(found.fd, `${printable(text)}\n`)
}

/** Reads a line with echo. */
export function ask(prompt: string): Promise<string> {
  return readLine(prompt, true)
}

/** Reads a line without echo. */
export function askHidden(prompt: string): Promise<string> {
  return readLine(prompt, false)
}

/**
 * Reads a line, ignoring anything typed before the prompt appeared: a command that asks hours later must not take an
 * earlier key press for the answer.
 */
export function askAfresh(prompt: string): Promise<string> {
  const found = terminal()
  if (found !== undefined) discardTyped(found)
  return askWithoutTypeahead(prompt)
}

/** Asks for yes or no. Anything but yes is no. */
export async function confirm(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await askWithoutTypeahead(`${question} [y/N] `)).trim())
}

/** Asks for a typed word to confirm an irreversible operation. */
export async function confirmByWord(question: string, word: string): Promise<boolean> {
  return (await askWithoutTypeahead(`${question} Type ${word} to continue: `)).trim() === word
}

/** Called before the password prompt, which would otherwise be in vain. */
export function checkCanConfirm(isConfirmed: boolean | undefined): void {
  if (isConfirmed === true || hasTerminal()) return
  throw new UsageError('confirmation is required, but stdin is not a terminal', {
    code: 'confirmation_required',
    hint: 'give --yes to confirm',
  })
}

/** Asks for confirmation on a terminal. Without one, --yes is required. */
export async function requireConfirmation(
  isConfirmed: boolean | undefined,
  ask: () => Promise<boolean>,
): Promise<void> {
  checkCanConfirm(isConfirmed)
  if (isConfirmed !== true && !(await ask())) throw new CommandError('declined', 'nothing was done')
}

/** The rest of a text pasted at an earlier prompt must not confirm anything. */
function askWithoutTypeahead(prompt: string): Promise<string> {
  typedAhead = ''
  return ask(prompt)
}

/** Reads bytes in raw mode, so that an unfinished line is discarded too. */
function discardTyped({ fd, input }: Terminal): void {
  input.setRawMode(true)
  input.read()
  const piece = Buffer.alloc(1_024)
  try {
    while (readSync(fd, piece) > 0) piece.fill(0)
  } catch {
    // Nothing is left to read, because the descriptor is non-blocking.
  } finally {
    input.setRawMode(false)
  }
}

function terminal(): Terminal | undefined {
  if (opened !== undefined) return opened
  try {
    const fd = openSync('/dev/tty', 'r+')
    const input = new ReadStream(fd)
    // Between prompts, errors such as a closed terminal cannot be reported.
    input.on('error', () => {})
    input.pause()
    opened = { fd, input }
    return opened
  } catch {
    return undefined
  }
}

/** The descriptor is non-blocking because it is also read from, so a slow terminal needs retries. */
function show(fd: number, text: string): void {
  let bytes = Buffer.from(text)
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(fd, bytes))
    } catch (error) {
      // A closed terminal cannot show anything; reading from it reports the end.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}

async function readLine(prompt: string, isEchoed: boolean): Promise<string> {
  const found = terminal()
  if (found === undefined) throw new CommandError('terminal_required', 'stdin is not a terminal')
  const { fd, input } = found
  const line = new LineEditor(isEchoed ? (text) => show(fd, text) : () => {})
  const decoder = new StringDecoder('utf8')
  // Sets the mode before the prompt, so that immediate input is not echoed.
  input.setRawMode(true)
  show(fd, printable(prompt))
  return new Promise((resolve, reject) => {
    const end = (rest: string): void => {
      typedAhead = rest
      input.off('data', onData).off('end', onEnd).off('error', onEnd)
      input.setRawMode(false)
      input.pause()
      input.unref()
      show(fd, '\n')
    }
    const take = (text: string): void => {
      const typed = line.type(text)
      if (typed === undefined) return
      end(typed.rest)
      if (typed.end === 'interrupted') reject(new CommandError('interrupted', ''))
      else if (typed.end === 'too-long')
        reject(new CommandError('line_too_long', 'the line is too long; nothing was done'))
      else resolve(typed.text)
    }
    const onData = (bytes: Buffer): void => {
      const text = decoder.write(bytes)
      bytes.fill(0)
      take(text)
    }
    const onEnd = (): void => {
      end('')
      reject(new CommandError('interrupted', ''))
    }
    input.on('data', onData).once('end', onEnd).once('error', onEnd)
    input.ref()
    input.resume()
    if (typedAhead !== '') take(typedAhead)
  })
}
