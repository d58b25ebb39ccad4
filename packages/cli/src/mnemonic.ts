/** A mnemonic of 25 words: typed without echo, or from a file or an open descriptor; never an argument. */
import { Mnemonic, Suggestion } from '@latchkey/algorand'
import { type Option, readNumber } from './Command.js'
import { CommandError, UsageError } from './errors.js'
import { type LineReader, openDescriptor, openFile } from './LineReader.js'
import { askHidden, hasTerminal } from './prompt.js'

export const mnemonicOptions = {
  'mnemonic-file': {
    type: 'string',
    aliases: ['words-file'],
    placeholder: 'FILE',
    completes: 'file',
    description: 'read the 25 words from this file',
  },
  'mnemonic-fd': {
    type: 'string',
    aliases: ['words-fd'],
    placeholder: 'N',
    description: 'read the 25 words from this open file descriptor',
  },
} as const satisfies { [name: string]: Option }

type Given = { readonly [name in keyof typeof mnemonicOptions]?: string | undefined }

const wordCount = 25

export const isMnemonicGiven = (given: Given): boolean =>
  given['mnemonic-file'] !== undefined || given['mnemonic-fd'] !== undefined

/** Returns the 32 bytes of the mnemonic, which the caller must wipe. */
export async function readMnemonic(given: Given): Promise<Uint8Array> {
  const { 'mnemonic-file': file, 'mnemonic-fd': fd } = given
  if (file !== undefined && fd !== undefined) throw new UsageError('give --mnemonic-file or --mnemonic-fd, not both')
  const descriptor = readNumber('--mnemonic-fd', fd, 0, 1_023)
  if (file !== undefined) return decode(readWords(open(file)))
  if (descriptor !== undefined) return decode(readWords(openDescriptor(descriptor)))
  if (!hasTerminal()) {
    throw new UsageError('the mnemonic is required, but stdin is not a terminal', {
      hint: 'give --mnemonic-file or --mnemonic-fd',
    })
  }
  return decode(await correct(await askForWords()))
}

function open(path: string): LineReader {
  try {
    return openFile(path)
  } catch (cause) {
    throw unreadable(`the mnemonic cannot be read: ${(cause as Error).message}`, cause)
  }
}

/** The words may span several lines. */
function readWords(reader: LineReader): string[] {
  const words: string[] = []
  try {
    while (words.length < wordCount) {
      const line = reader.readLine()
      if (line === undefined) break
      words.push(...split(Buffer.from(line.buffer, line.byteOffset, line.length).toString('utf8')))
      line.fill(0)
    }
    return words
  } catch (cause) {
    throw unreadable(`the mnemonic cannot be read from ${reader.name}: ${(cause as Error).message}`, cause)
  } finally {
    reader.close()
  }
}

function unreadable(message: string, cause: unknown): CommandError {
  return new CommandError('file_unreadable', message, { cause })
}

async function askForWords(): Promise<string[]> {
  const words: string[] = []
  while (words.length < wordCount) {
    const prompt = words.length === 0 ? `${wordCount} words (hidden): ` : `${words.length} so far, continue (hidden): `
    const more = split(await askHidden(prompt))
    if (more.length === 0) break
    words.push(...more)
  }
  return words
}

/** Asks again only for the misspelled words. */
async function correct(words: readonly string[]): Promise<string[]> {
  const corrected = [...words]
  if (words.length !== wordCount) return corrected
  for (const at of unknownWords(corrected)) {
    const suggestion = nearestWord(corrected[at]!)
    const prompt = `Word ${at + 1} is not in the word list. Press Enter for "${suggestion}", or type the word: `
    const [typed = suggestion] = split(await askHidden(prompt))
    corrected[at] = typed
  }
  return corrected
}

/** No message quotes a given word, because it may end up in a log. */
function decode(words: readonly string[]): Uint8Array {
  if (words.length !== wordCount) {
    throw invalid(`a mnemonic has ${wordCount} words, but ${words.length} were given; nothing was done`)
  }
  const faults = unknownWords(words).map(
    (at) => `word ${at + 1} is not in the word list (nearest: ${nearestWord(words[at]!)})`,
  )
  if (faults.length > 0) {
    const more = faults.length > 5 ? `; and ${faults.length - 5} more` : ''
    throw invalid(`${faults.slice(0, 5).join('; ')}${more}`)
  }
  try {
    return Mnemonic.decode(words.join(' '))
  } catch (error) {
    if (!(error instanceof Mnemonic.MnemonicError)) throw error
    throw invalid(
      `all ${wordCount} words are in the word list, but the checksum does not match`,
      'a word is wrong, or two words are swapped',
    )
  }
}

function invalid(message: string, hint?: string): CommandError {
  return new CommandError('invalid_mnemonic', message, { hint })
}

/** Removes the numbers of a grid that was copied from the screen. */
const split = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '' && !/^[0-9]{1,2}[.)]?$/.test(word))

const gridColumns = 5

/** The words numbered in rows of five, for writing down and comparing. */
export function mnemonicGrid(mnemonic: string): string {
  const cells = mnemonic.split(' ').map((word, at) => `${String(at + 1).padStart(2)} ${word.padEnd(8)}`)
  const rows = Array.from({ length: Math.ceil(cells.length / gridColumns) }, (_, row) =>
    cells.slice(row * gridColumns, (row + 1) * gridColumns),
  )
  return rows.map((row) => `  ${row.join('  ').trimEnd()}\n`).join('')
}

function unknownWords(words: readonly string[]): number[] {
  const known = new Set(Mnemonic.wordList)
  return [...words.keys()].filter((at) => !known.has(words[at]!))
}

/**
 * Prefers the fewest changes, then the longest common prefix: the first four letters distinguish the words of the list.
 */
function nearestWord(word: string): string {
  const typed = word.slice(0, 20)
  const rank = (candidate: string): number =>
    Suggestion.distance(candidate, typed) - commonStart(candidate, typed) / 100
  return Mnemonic.wordList
    .map((candidate) => ({ candidate, rank: rank(candidate) }))
    .reduce((best, one) => (one.rank < best.rank ? one : best)).candidate
}

function commonStart(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}
