/** The destination of a response body: stdout or a new file, written piece by piece. */
import { closeSync, openSync, rmSync, write } from 'node:fs'
import { promisify } from 'node:util'
import { LostResponseError } from '@latchkey/x402/client'
import { CommandError } from '../../errors.js'
import { quoted } from '../../format.js'
import { contentPrinter } from '../../messages.js'
import type { IdleLimit } from './IdleLimit.js'

export type BodySink = {
  /** Resolves when more can be written. */
  readonly write: (bytes: Uint8Array) => Promise<void>
  readonly end: () => Promise<void>
  /** Removes an incomplete file. */
  readonly discard: () => Promise<void>
}

/**
 * Opened before anything is paid, so that nothing is bought that cannot be written.
 *
 * @throws CommandError if the file exists or cannot be written
 */
export function openBodySink(file: string | undefined): BodySink {
  if (file === undefined) return { ...contentPrinter(), discard: async () => {} }
  let descriptor: number | undefined = create(file)
  const close = (): void => {
    if (descriptor !== undefined) closeSync(descriptor)
    descriptor = undefined
  }
  return {
    write: async (bytes) => {
      for (let done = 0; done < bytes.length; ) {
        done += (await writeFile(descriptor!, bytes, done)).bytesWritten
      }
    },
    end: async () => close(),
    discard: async () => {
      if (descriptor === undefined) return
      close()
      rmSync(file, { force: true })
    },
  }
}

const writeFile = promisify(write)

function create(file: string): number {
  try {
    return openSync(file, 'wx')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST')
      throw new CommandError('file_exists', `${quoted(file)} already exists`, { hint: 'name another file' })
    throw new CommandError('file_unwritable', `${quoted(file)} cannot be written: ${message}`, { cause: error })
  }
}

export type ReceiveOptions = {
  readonly sink: BodySink
  readonly limit: IdleLimit
  readonly maxBytes: number | undefined
}

/**
 * Writes the body to the sink as it arrives.
 *
 * @throws CommandError if it is longer than `maxBytes` or incomplete
 * @throws LostResponseError if it was paid for and is incomplete
 */
export async function receiveBody(response: Response, { sink, limit, maxBytes }: ReceiveOptions): Promise<void> {
  const reader = response.body?.getReader()
  let received = 0
  for (;;) {
    limit.restart()
    const piece = await reader?.read().catch((error: unknown) => {
      throw limit.interruption !== undefined || error instanceof LostResponseError ? error : brokenOff(received, error)
    })
    // Writing takes as long as the reader of stdout needs.
    limit.stop()
    if (piece?.value === undefined) break
    const room = maxBytes === undefined ? piece.value.length : maxBytes - received
    await sink.write(piece.value.subarray(0, room))
    received += piece.value.length
    if (piece.value.length > room) {
      const message = `the response is larger than ${maxBytes} bytes and was truncated`
      throw new CommandError('response_incomplete', message, { hint: 'raise --max-bytes' })
    }
  }
  await sink.end()
}

function brokenOff(received: number, cause: unknown): CommandError {
  return new CommandError('response_incomplete', `the response ended early, after ${received} bytes`, {
    hint: 'run the command again',
    cause,
  })
}
