/** Records the owner's API operations and events seen by the daemon, as the description of each operation says. */
import type { Recording } from '@latchkey/kmd-api'
import type { Caller, Context, OwnerCaller } from '../api/Context.js'
import type { Members, Operation } from '../api/Operations.js'
import { KmdError } from '../errors.js'
import type { Actor, AuditEvent, AuditMode } from './AuditChain.js'
import type { AuditLog } from './AuditLog.js'
import { LateRecords } from './LateRecords.js'
import { RepeatedEvents } from './RepeatedEvents.js'

export type RecorderOptions = {
  log: AuditLog
  context: Context
  /** @default 'agents' */
  mode?: AuditMode | undefined
  /** Called if an event could not be recorded. */
  onLost?: (event: AuditEvent, error: unknown) => void
  /** A monotonic clock in milliseconds, for events that are recorded only a few times a minute. */
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

  /** Writes pending records. */
  flush(): Promise<void> {
    return this.#late.flush()
  }

  /** The number of records lost since the start. */
  get lost(): number {
    return this.#lostInAll
  }

  configure(mode: AuditMode): void {
    this.#mode = mode
  }

  /** How an operation of the owner is recorded; undefined if it is not, which costs nothing. */
  find({ audit }: Operation): Recording | undefined {
    if (typeof audit !== 'object') return undefined
    return audit.isSignature && this.#mode !== 'all' ? undefined : audit
  }

  /**
   * Runs an operation and records it before its response is sent.
   *
   * @throws KmdError `state_not_written` if the record is required and cannot be written
   */
  async perform(recording: Recording, operation: Operation, input: Members, caller: OwnerCaller): Promise<Members> {
    const { context, log } = this.#options
    const isRequired = recording.required === 'always' || this.#mode === 'all'
    const found = await this.#subject(operation, input)
    if (found !== undefined && isRequired && recording.isChange) await log.probe()
    const subject = found ?? {}
    const output = await operation.run(context, input, caller)
    const result = operation.record?.result?.(input, output) ?? {}
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
      if (isRequired) throw this.#takeBack(recording, operation, output, error)
    }
    return output
  }

  /**
   * Undefined if it could not be determined: the request names something that does not exist, and the operation reports
   * the error. If the operation succeeds anyway, it is recorded without a subject.
   */
  async #subject({ record }: Operation, input: Members): Promise<Partial<AuditEvent> | undefined> {
    try {
      return (await record?.subject(this.#options.context, input)) ?? {}
    } catch (error) {
      if (error instanceof KmdError && error.code === 'state_not_written') throw error
      return undefined
    }
  }

  /** Records a wrong password, with the request's operation. */
  async wrongPassword(operation: Operation, input: Members, caller: Caller): Promise<void> {
    const wallet = this.#walletOf(input)
    const detail = { operation: operation.id }
    const event = { event: 'wrong_password', actor: actorOf(operation, caller), wallet, detail } as const
    await this.#repeated.add(`wrong password ${wallet}`, event)
  }

  /** Records that an agent requested a forbidden operation. */
  async operationRefused(agent: { id: string; name: string }, operationId: string): Promise<void> {
    const actor = { type: 'agent', id: agent.id, name: agent.name } as const
    await this.#repeated.add(`refused ${agent.id}`, {
      event: 'operation_refused',
      actor,
      detail: { operation: operationId },
    })
  }

  /** Records a past event. Never rejects: if writing fails, the record is lost. */
  async note(event: AuditEvent): Promise<void> {
    try {
      await this.#write(event)
    } catch (error) {
      this.#lose(event, error)
    }
  }

  /** Records events that were only counted so far. The log must still be open. */
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
      // The handle has ended in the meantime.
      return undefined
    }
  }

  /** Writes pending records first, to keep the order of events. */
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

  /** First records how many records were lost before. */
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

  #takeBack({ isChange }: Recording, { record }: Operation, output: Members, cause: unknown): unknown {
    for (const value of Object.values(output)) if (value instanceof Uint8Array) value.fill(0)
    record?.undo?.(this.#options.context, output)
    if (!isChange) return cause instanceof KmdError ? new KmdError('state_not_written', { cause }) : cause
    return new KmdError('state_not_written', {
      message: 'the operation succeeded, but its audit record could not be written',
      cause,
    })
  }
}

function actorOf({ id }: Operation, caller: Caller): Actor {
  // Open to everyone: a caller with a ticket uses it to open a session.
  return { type: caller.type === 'session' || id === 'OpenConsole' ? 'console' : 'owner' }
}
