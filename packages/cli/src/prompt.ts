/**
 * Questions to the person at the terminal. They are asked and answered there even where stdin, stdout and stderr are
 * pipes, so that `latchkey key list > file` shows its question and the file has the answer alone.
 */
import { openSync, writeSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { ReadStream } from 'node:tty'
import { UsageError } from './Command.js'
import { CommandError } from './exitCodes.js'
import { Line } from './Line.js'

type Terminal = { fd: number; input: ReadStream }

let opened: Terminal | undefined
/** What was typed or pasted after the line that a question took. */
let typedAhead = ''

export function hasTerminal(): boolean {
  return terminal() !== undefined
}

/** To the person, wherever stderr goes. */
export function printNotice(text: string): void {
  const found = terminal()
  if (found !== undefined) show(found.fd, `${text}\n`)
}

/** A line, as it is typed. */
export function ask(question: string): Promise<string> {
  return readLine(question, true)
}

/** A line that is not shown. */
export function askHidden(question: string): Promise<string> {
  return readLine(question, false)
}

/** Anything but a plain yes is a no. */
export async function confirm(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await askAfresh(`${question} [y/N] `)).trim())
}

/** For what cannot be taken back: a word must be typed. */
export async function confirmByWord(question: string, word: string): Promise<boolean> {
  return (await askAfresh(`${question} Type ${word} to go on: `)).trim() === word
}

/** Early, so that nobody gives a password for what then cannot be asked. */
export function checkAskable(isSaid: boolean | undefined): void {
  if (isSaid !== true && !hasTerminal()) throw new UsageError('nobody can be asked here: give --yes if it is meant')
}

/** On a terminal the person decides; elsewhere it has to be said before, with --yes. */
export async function consent(isSaid: boolean | undefined, question: () => Promise<boolean>): Promise<void> {
  checkAskable(isSaid)
  if (isSaid !== true && !(await question())) throw new CommandError('declined', 'nothing was done')
}

/** The rest of what was pasted for a question before must not agree to anything. */
function askAfresh(question: string): Promise<string> {
  typedAhead = ''
  return ask(question)
}

function terminal(): Terminal | undefined {
  if (opened !== undefined) return opened
  try {
    const fd = openSync('/dev/tty', 'r+')
    const input = new ReadStream(fd)
    // What comes while nobody is asked, as of a terminal that is gone, has nobody to tell.
    input.on('error', () => {})
    input.pause()
    opened = { fd, input }
    return opened
  } catch {
    return undefined
  }
}

/** The descriptor does not block, as it is read from too: a slow terminal asks for a little patience. */
function show(fd: number, text: string): void {
  let bytes = Buffer.from(text)
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(fd, bytes))
    } catch (error) {
      // A terminal that was closed shows nothing any more; whoever reads from it is told.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}

async function readLine(question: string, isShown: boolean): Promise<string> {
  const found = terminal()
  if (found === undefined) throw new CommandError('failed', 'nobody can be asked here: there is no terminal')
  const { fd, input } = found
  const line = new Line(isShown ? (text) => show(fd, text) : () => {})
  const decoder = new StringDecoder('utf8')
  // First the mode, then the question: whoever answers it at once is not echoed.
  input.setRawMode(true)
  show(fd, question)
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
      else if (typed.end === 'overlong') reject(new CommandError('failed', 'that line is too long; nothing was done'))
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
