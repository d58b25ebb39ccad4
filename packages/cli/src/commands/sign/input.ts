/** Reads the input of signing from a file or a pipe, raw or as base64 text. */
import { createReadStream } from 'node:fs'
import { TransactionFile } from '@latchkey/algorand'
import { CommandError, UsageError } from '../../errors.js'

/** Sixteen of the largest transactions, in base64. */
const maxBytes = 2 * 1024 * 1024

/** Reads the whole file, or stdin if no file is named. */
export async function readAll(file: string | undefined): Promise<Buffer> {
  const isStdin = file === undefined || file === '-'
  if (isStdin && process.stdin.isTTY) throw new UsageError('name the file to sign, or pipe it in')
  const parts: Buffer[] = []
  let length = 0
  try {
    for await (const part of isStdin ? process.stdin : createReadStream(file)) {
      length += (part as Buffer).length
      if (length > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
      parts.push(part as Buffer)
    }
  } catch (cause) {
    throw new CommandError('file_unreadable', `${nameOf(file)} cannot be read: ${(cause as Error).message}`, { cause })
  }
  return Buffer.concat(parts)
}

/** Decodes the whole file or nothing, because a file with unexpected content is not what its owner believes. */
export function readTransactions(given: Buffer, file: string | undefined): TransactionFile.Member[] {
  try {
    return TransactionFile.decode(fromText(given) ?? given)
  } catch (error) {
    if (!(error instanceof TransactionFile.DecodeError)) throw error
    const message = `${nameOf(file)} is not a transaction or a group: ${error.message}; nothing was signed`
    throw new CommandError('invalid_file', message, { cause: error })
  }
}

const base64Word = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Decodes base64 with any line breaks, or one transaction per line. Never matches msgpack, whose maps begin with a byte
 * outside ASCII.
 */
function fromText(given: Buffer): Buffer | undefined {
  const words = given
    .toString('latin1')
    .split(/\s+/)
    .filter((word) => word !== '')
  if (words.length === 0 || !words.every((word) => base64Word.test(word))) return undefined
  return Buffer.concat(words.map((word) => Buffer.from(word, 'base64')))
}

function nameOf(file: string | undefined): string {
  return file === undefined || file === '-' ? 'stdin' : file
}
