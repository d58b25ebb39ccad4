/**
 * A file of sent transactions: recorded before a transaction is sent, closed when its outcome is known. A command that
 * is repeated, because it was interrupted or no node answered, finds the transaction here and sends the same bytes,
 * which the ledger accepts once. Without the record it would create another transaction and pay twice.
 */
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Json } from '@latchkey/algorand'
import * as AtomicFile from '@latchkey/system/atomic-file'
import * as Lock from '@latchkey/system/lock'
import { CommandError } from '../errors.js'
import { quoted } from '../format.js'
import { allPrinted } from '../messages.js'

export type Sent = {
  readonly id: string
  /** The CAIP-2 id of its network. */
  readonly network: string
  /** The effect of the transaction, apart from its rounds and fee. Equal if the command is repeated. */
  readonly intent: string
  readonly sentMs: number
  readonly firstValid: bigint
  readonly lastValid: bigint
  readonly signed: Uint8Array
  /** Whether its outcome is not known yet. */
  readonly isOpen: boolean
}

const maxBytes = 8 * 1024 * 1024
/** Open ones are always kept. */
const maxClosed = 500
const defaultLockMs = 30_000
const lockPollMs = 20
const current = 1

export function defaultPath(): string {
  return join(homedir(), '.latchkey', 'transactions.jsonl')
}

export class SentLog {
  readonly #path: string
  readonly #lockMs: number

  constructor(path: string, { lockMs = defaultLockMs }: { readonly lockMs?: number } = {}) {
    this.#path = path
    this.#lockMs = lockMs
  }

  /** @throws CommandError if the file cannot be read */
  get(id: string): Sent | undefined {
    return this.#read().find((one) => one.id === id)
  }

  /** Returns the latest transaction with the same intent whose outcome is not known. */
  findOpen(network: string, intent: string): Sent | undefined {
    return this.#read().findLast((one) => one.isOpen && one.network === network && one.intent === intent)
  }

  /**
   * Records the transaction that `sign` creates, unless another process has recorded one with the same intent in the
   * meantime, which is then returned. The record is on the disk before this returns.
   */
  async add(
    network: string,
    intent: string,
    sign: (isTaken: (id: string) => boolean) => Promise<Omit<Sent, 'isOpen' | 'network' | 'intent' | 'sentMs'>>,
    { isAgain }: { readonly isAgain: boolean },
  ): Promise<{ sent: Sent; isNew: boolean }> {
    return this.#exclusively(async () => {
      const known = isAgain ? undefined : this.findOpen(network, intent)
      if (known !== undefined) return { sent: known, isNew: false }
      const all = this.#read()
      const made = await sign((id) => all.some((one) => one.id === id))
      const sent: Sent = { ...made, network, intent, sentMs: Date.now(), isOpen: true }
      this.#write([...all, sent])
      return { sent, isNew: true }
    })
  }

  /** Marks the outcome as known. */
  close(id: string): Promise<void> {
    return this.#exclusively(async () => {
      const all = this.#read()
      if (!all.some((one) => one.id === id && one.isOpen)) return
      this.#write(all.map((one) => (one.id === id ? { ...one, isOpen: false } : one)))
    })
  }

  async #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const lock = await this.#lock()
    try {
      return await work()
    } finally {
      Lock.release(lock)
    }
  }

  async #lock(): Promise<number> {
    const giveUpAt = performance.now() + this.#lockMs
    for (;;) {
      try {
        mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
        return Lock.take(`${this.#path}.lock`)
      } catch (cause) {
        const isHeld = cause instanceof Lock.LockError && cause.code === 'locked'
        if (!isHeld || performance.now() > giveUpAt) throw this.#failure('written', cause)
      }
      await new Promise((resolve) => setTimeout(resolve, lockPollMs))
    }
  }

  #read(): Sent[] {
    let text: string
    try {
      const size = statSync(this.#path, { throwIfNoEntry: false })?.size
      if (size === undefined) return []
      if (size > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
      text = readFileSync(this.#path, 'utf8')
    } catch (cause) {
      throw this.#failure('read', cause)
    }
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => decode(line) ?? this.#refuse())
  }

  #write(all: readonly Sent[]): void {
    const closed = all.filter(({ isOpen }) => !isOpen)
    const dropped = new Set(closed.slice(0, Math.max(0, closed.length - maxClosed)))
    const lines = all.filter((one) => !dropped.has(one)).map((one) => `${encode(one)}\n`)
    try {
      AtomicFile.replaceSync(this.#path, lines.join(''))
    } catch (cause) {
      throw this.#failure('written', cause)
    }
  }

  /** Its transactions may be in flight, so continuing without the file could pay twice. */
  #refuse(): never {
    const message = `${quoted(this.#path)} is not a log of sent transactions, or is damaged`
    throw new CommandError('invalid_file', message, { hint: 'move it away, or give another file with --log' })
  }

  #failure(how: string, cause: unknown): CommandError {
    const message = `${quoted(this.#path)} cannot be ${how}: ${(cause as Error).message}`
    const isHeld = cause instanceof Lock.LockError && cause.code === 'locked'
    return new CommandError(how === 'read' ? 'file_unreadable' : 'file_unwritable', message, {
      // Does not suggest another file, because the transactions of the other command would not be found there.
      hint: isHeld
        ? 'another command is sending a transaction; try again'
        : 'give another file with --log, or correct HOME',
      cause,
    })
  }
}

/**
 * Closes the record of a transaction once its outcome was printed. Until then the same command must find it: a user who
 * saw no outcome repeats the command, and would otherwise pay twice. A record that stays open only causes another
 * ledger lookup.
 */
export async function closeWhenPrinted(log: SentLog, id: string): Promise<void> {
  await allPrinted()
    .then(() => log.close(id))
    .catch(() => {})
}

function encode({ signed, firstValid, lastValid, ...rest }: Sent): string {
  const bytes = Buffer.from(signed).toString('base64')
  return JSON.stringify({ v: current, ...rest, firstValid: `${firstValid}`, lastValid: `${lastValid}`, signed: bytes })
}

function decode(line: string): Sent | undefined {
  const value = Json.parseObject(line)
  if (value === undefined || value['v'] !== current) return undefined
  const { id, network, intent, sentMs, firstValid, lastValid, signed, isOpen } = value
  const texts = [id, network, intent, firstValid, lastValid, signed]
  if (!texts.every((one): one is string => typeof one === 'string')) return undefined
  if (typeof sentMs !== 'number' || typeof isOpen !== 'boolean') return undefined
  const rounds = [firstValid, lastValid] as string[]
  if (!rounds.every((round) => /^[0-9]{1,20}$/.test(round)) || !/^[A-Z2-7]{52}$/.test(id as string)) return undefined
  return {
    id: id as string,
    network: network as string,
    intent: intent as string,
    sentMs,
    isOpen,
    firstValid: BigInt(rounds[0]!),
    lastValid: BigInt(rounds[1]!),
    signed: new Uint8Array(Buffer.from(signed as string, 'base64')),
  }
}
