/** Records what the owner does through the API, and what the daemon sees: by the table in `recordings.ts`. */
import type { Caller } from '../api/Caller.js'
import type { Context } from '../api/Context.js'
import type { Operation } from '../api/Operation.js'
import { KmdError } from '../errors.js'
import type { AuditLog } from './AuditLog.js'
import type { AuditMode } from './AuditMode.js'
import type { Actor, AuditEvent } from './AuditRecord.js'
import { LateRecords } from './LateRecords.js'
import { RepeatedEvents } from './RepeatedEvents.js'
import { type Members, type Recording, recordings } from './recordings.js'

export type RecorderOptions = {
  log: AuditLog
  context: Context
  /** @default 'agents' */
  mode?: AuditMode | undefined
  /** Called when something happened that could not be recorded. */
  onLost?: (event: AuditEvent, error: unknown) => void
  /** For what is recorded a few times a minute only. A monotonic clock, in milliseconds. */
  now?: () => number
}

const retryMs = 5_000

export class Recorder {
  readonly #options: RecorderOptions
  readonly #repeated: RepeatedEvents
  readonly #late: LateRecords
  #mode: AuditMode
  #lostSinceRecord = 0
  #lostInAll = 0
  #retry: NodeJS.Timeout | undefined

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#mode = options.mode ?? 'agents'
    this.#repeated = new RepeatedEvents({
      record: (event) => this.note(event),
      ...(options.now && { now: options.now }),
    })
    this.#late = new LateRecords({ write: (events) => this.#writeAll(events) })
    options.log.onRead(() => this.flush())
  }

  /** Writes the records that wait for others. */
  flush(): Promise<void> {
    return this.#late.flush()
  }

  /** Records that were lost since the start. */
  get lost(): number {
    return this.#lostInAll
  }

  configure(mode: AuditMode): void {
    this.#mode = mode
  }

  /** How an operation is recorded; undefined if it is not: then it costs nothing. */
  find(operation: Operation, caller: Caller): Recording | undefined {
    const entry = recordings[operation.id]
    if (typeof entry !== 'object' || caller.type === 'agent') return undefined
    return entry.isSignature && this.#mode !== 'all' ? undefined : entry
  }

  /**
   * Runs an operation and records it, before its response leaves.
   *
   * @throws KmdError `state_not_written` if the record is required and cannot be written
   */
  async perform(recording: Recording, operation: Operation, input: Members, caller: Caller): Promise<Members> {
    const { context, log } = this.#options
    const run = async (): Promise<Members> => operation.run(context, input as never, caller) as Promise<Members>
    const isRequired = recording.required === 'always' || this.#mode === 'all'
    let subject: Partial<AuditEvent> = {}
    try {
      subject = await recording.subject(context, input)
      if (isRequired && recording.isChange) await log.probe()
    } catch (error) {
      if (error instanceof KmdError && error.code === 'state_not_written') throw error
      // The request names nothing that there is, and the operation says so. Should it succeed all the same, it is recorded
      // as far as it is known.
    }
    const output = await run()
    const result = recording.result?.(input, output) ?? {}
    const event = {
      ...{ event: recording.event, actor: actorOf(operation, caller), ...subject, ...result },
      ...((subject.detail || result.detail) && { detail: { ...subject.detail, ...result.detail } }),
    }
    if (recording.isBulk && !isRequired) {
      await this.#late.add(event)
      return output
    }
    try {
      await this.#write(event)
    } catch (error) {
      this.#lose(event, error)
      if (isRequired) throw this.#takeBack(recording, output, error)
    }
    return output
  }

  /** A wrong password, by the request that had it. */
  async wrongPassword(operation: Operation, input: Members, caller: Caller): Promise<void> {
    const wallet = this.#walletOf(input)
    const detail = { operation: operation.id }
    const event = { event: 'wrong_password', actor: actorOf(operation, caller), wallet, detail } as const
    await this.#repeated.add(`wrong password ${wallet}`, event)
  }

  /** An agent asked for an operation that agents do not have. */
  async operationRefused(agent: { id: string; name: string }, operationId: string): Promise<void> {
    const actor = { type: 'agent', id: agent.id, name: agent.name } as const
    await this.#repeated.add(`refused ${agent.id}`, {
      event: 'operation_refused',
      actor,
      detail: { operation: operationId },
    })
  }

  /** Records something that has happened. If that fails, the record is lost; it never rejects. */
  async note(event: AuditEvent): Promise<void> {
    try {
      await this.#write(event)
    } catch (error) {
      this.#lose(event, error)
    }
  }

  /** Records what was only counted so far. The log has to be open still. */
  async close(): Promise<void> {
    clearTimeout(this.#retry)
    await this.flush()
    await this.#repeated.close()
    if (this.#lostSinceRecord > 0) await this.#writeLost().catch(() => {})
  }

  #walletOf(input: Members): string | undefined {
    const { wallet_id: id, wallet_handle_token: handle } = input
    if (typeof id === 'string') return id
    try {
      return typeof handle === 'string' ? this.#options.context.handles.wallet(handle).id.toString('utf8') : undefined
    } catch {
      // The handle has ended meanwhile.
      return undefined
    }
  }

  /** What waits is written first, in the order in which it happened. */
  #write(event: AuditEvent): Promise<void> {
    void this.flush()
    return this.#append((append) => append(event))
  }

  async #writeAll(events: readonly AuditEvent[]): Promise<void> {
    try {
      await this.#append((append) => events.forEach(append))
    } catch (error) {
      for (const event of events) this.#lose(event, error)
    }
  }

  #writeLost(): Promise<void> {
    return this.#append(() => {})
  }

  /** First says how many records were lost before. */
  async #append(work: (append: (event: AuditEvent) => void) => void): Promise<void> {
    const { log } = this.#options
    let reported = 0
    try {
      await log.change(() => {
        reported = this.#lostSinceRecord
        if (reported > 0)
          log.append({ event: 'records_lost', actor: { type: 'daemon' }, detail: { count: `${reported}` } })
        this.#lostSinceRecord = 0
        work((event) => log.append(event))
      })
    } catch (error) {
      this.#lostSinceRecord += reported
      throw error
    }
  }

  #lose(event: AuditEvent, error: unknown): void {
    this.#lostInAll++
    this.#lostSinceRecord++
    this.#options.onLost?.(event, error)
    this.#scheduleRetry()
  }

  #scheduleRetry(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined
      if (this.#lostSinceRecord > 0) this.#writeLost().catch(() => this.#scheduleRetry())
    }, retryMs).unref()
  }

  #takeBack({ undo, isChange }: Recording, output: Members, cause: unknown): KmdError {
    for (const value of Object.values(output)) if (value instanceof Uint8Array) value.fill(0)
    undo?.(this.#options.context, output)
    if (!isChange) return new KmdError('state_not_written', { cause })
    return new KmdError('state_not_written', { message: 'it was done, but the audit log could not be written', cause })
  }
}

function actorOf({ id }: Operation, caller: Caller): Actor {
  // It is open to all: who has a ticket opens a session by it.
  return { type: caller.type === 'session' || id === 'OpenConsole' ? 'console' : 'owner' }
}
