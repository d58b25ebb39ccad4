/** What is to be signed, as it comes: out of a file or from a pipe, raw or as base64 text. */
import { createReadStream } from 'node:fs'
import { TransactionFile } from '@latchkey/algorand'
import { UsageError } from '../../Command.js'
import { CommandError } from '../../exitCodes.js'

/** Sixteen of the largest transactions, in base64. */
const maxBytes = 2 * 1024 * 1024

/** The whole file, or what is piped in where none is named. */
export async function readAll(file: string | undefined): Promise<Buffer> {
  const isPiped = file === undefined || file === '-'
  if (isPiped && process.stdin.isTTY) throw new UsageError('name the file to sign, or pipe it in')
  const parts: Buffer[] = []
  let length = 0
  try {
    for await (const part of isPiped ? process.stdin : createReadStream(file)) {
      length += (part as Buffer).length
      if (length > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
      parts.push(part as Buffer)
    }
  } catch (error) {
    throw new CommandError('failed', `${nameOf(file)} cannot be read: ${(error as Error).message}`)
  }
  return Buffer.concat(parts)
}

/** All of them or none: a file that holds anything else beside is not what its owner thinks it is. */
export function readTransactions(given: Buffer, file: string | undefined): TransactionFile.Member[] {
  try {
    return TransactionFile.decode(fromText(given) ?? given)
  } catch (error) {
    if (!(error instanceof TransactionFile.DecodeError)) throw error
    throw new CommandError(
      'failed',
      `${nameOf(file)} is not a transaction or a group: ${error.message}; nothing was signed`,
    )
  }
}

const base64Word = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * The bytes, if it is base64: in one piece, in lines of equal length, or one transaction a line. Never true of msgpack,
 * whose maps begin with a byte beyond ASCII.
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
  return file === undefined || file === '-' ? 'what was piped in' : file
}
