/** The 25 words of a backup or of a key: typed unseen, or from a file or an open descriptor; never an argument. */
import { Mnemonic, Suggestion } from '@latchkey/algorand'
import { type Option, readNumber, UsageError } from './Command.js'
import { CommandError } from './exitCodes.js'
import { type Input, openDescriptor, openFile } from './Input.js'
import { askHidden, hasTerminal } from './prompt.js'

export const mnemonicOptions = {
  'words-file': { type: 'string', value: 'FILE', completes: 'file', about: 'the 25 words are in this file' },
  'words-fd': { type: 'string', value: 'N', about: 'the 25 words come from this open file descriptor' },
} as const satisfies { [name: string]: Option }

type Given = { readonly [name in keyof typeof mnemonicOptions]?: string | undefined }

const wordCount = 25

/** The 32 bytes that the words stand for. They are the caller's, to wipe. */
export async function readMnemonic(given: Given): Promise<Uint8Array> {
  const { 'words-file': file, 'words-fd': fd } = given
  if (file !== undefined && fd !== undefined) throw new UsageError('say in one way only where the words come from')
  const number = readNumber('--words-fd', fd, 0, 1_023)
  if (file !== undefined) return decode(takeWords(open(file)))
  if (number !== undefined) return decode(takeWords(openDescriptor(number)))
  if (!hasTerminal()) throw new UsageError('there is no terminal to ask for the words; give --words-file or --words-fd')
  return decode(await mend(await askForWords()))
}

function open(path: string): Input {
  try {
    return openFile(path)
  } catch (error) {
    throw new CommandError('failed', `the words cannot be read: ${(error as Error).message}`)
  }
}

/** Over as many lines as they take. */
function takeWords(input: Input): string[] {
  const words: string[] = []
  try {
    while (words.length < wordCount) {
      const line = input.line()
      if (line === undefined) break
      words.push(...split(Buffer.from(line.buffer, line.byteOffset, line.length).toString('utf8')))
      line.fill(0)
    }
    return words
  } catch (error) {
    throw new CommandError('failed', `the words cannot be read from ${input.name}: ${(error as Error).message}`)
  } finally {
    input.close()
  }
}

async function askForWords(): Promise<string[]> {
  const words: string[] = []
  while (words.length < wordCount) {
    const question =
      words.length === 0 ? `The ${wordCount} words (not shown): ` : `${words.length} so far, go on (not shown): `
    const more = split(await askHidden(question))
    if (more.length === 0) break
    words.push(...more)
  }
  return words
}

/** Nobody types 24 good words again for the sake of a bad one. */
async function mend(words: readonly string[]): Promise<string[]> {
  const mended = [...words]
  if (words.length !== wordCount) return mended
  for (const at of unknown(mended)) {
    const near = nearest(mended[at]!)
    const question = `Word ${at + 1} is not in the word list. Enter takes "${near}", or type the word: `
    const [typed = near] = split(await askHidden(question))
    mended[at] = typed
  }
  return mended
}

function decode(words: readonly string[]): Uint8Array {
  if (words.length !== wordCount) {
    throw new CommandError('failed', `${wordCount} words are needed, and ${words.length} were given; nothing was done`)
  }
  const faults = unknown(words).map((at) => `word ${at + 1} is not in the word list (nearest: ${nearest(words[at]!)})`)
  if (faults.length > 0) {
    const more = faults.length > 5 ? `; and ${faults.length - 5} more` : ''
    throw new CommandError('failed', `${faults.slice(0, 5).join('; ')}${more}`)
  }
  try {
    return Mnemonic.decode(words.join(' '))
  } catch (error) {
    if (!(error instanceof Mnemonic.MnemonicError)) throw error
    const cure = 'one of them is another word of the list, or two changed places'
    throw new CommandError(
      'failed',
      `all ${wordCount} words are in the list, but their checksum does not match: ${cure}`,
    )
  }
}

const split = (text: string): string[] => text.toLowerCase().split(/\s+/).filter(Boolean)

function unknown(words: readonly string[]): number[] {
  const known = new Set(Mnemonic.wordList)
  return [...words.keys()].filter((at) => !known.has(words[at]!))
}

/** With the fewest letters changed; of those, the one that begins alike the longest: words differ in their first four. */
function nearest(word: string): string {
  const said = word.slice(0, 20)
  const rank = (candidate: string): number => Suggestion.distance(candidate, said) - commonStart(candidate, said) / 100
  return Mnemonic.wordList
    .map((candidate) => ({ candidate, rank: rank(candidate) }))
    .reduce((best, one) => (one.rank < best.rank ? one : best)).candidate
}

function commonStart(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}
