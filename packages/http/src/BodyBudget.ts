/**
 * Limits the memory of all request bodies of a server together. A holder that was named has a quarter at most, and all
 * named holders together have half, as with connections, so that none of them keeps the owner's bodies out. Bodies that
 * have been arriving for long make room for others, because otherwise a few slow senders would keep all others out.
 */
import { BodyError } from './BodyReader.js'

const holderShare = 4
const holdersShare = 2

/** Who sends a body. */
export type BodySender = {
  /** The named holder whose token the request has. */
  readonly holder?: string | undefined
  readonly isOwner?: boolean
  /** Called only if the memory is used up. Senders behind one proxy have the same address. */
  readonly address?: () => string | undefined
}

/** The part of the limits of a server that a {@link BodyBudget} needs. */
export type BodyBudgetOptions = {
  totalBodyBytes: number
  slowBodyMs: number
  /** @default performance.now */
  now?: () => number
}

export class BodyBudget {
  readonly #total: number
  readonly #slowMs: number
  readonly #now: () => number
  #used = 0
  #held = 0
  readonly #byHolder = new Map<string, number>()
  /** The bodies that have not arrived completely, in the order in which they began. */
  readonly #arriving = new Set<BodyReservation>()

  constructor({ totalBodyBytes, slowBodyMs, now = () => performance.now() }: BodyBudgetOptions) {
    this.#total = totalBodyBytes
    this.#slowMs = slowBodyMs
    this.#now = now
  }

  /** The memory in use, in bytes. */
  get used(): number {
    return this.#used
  }

  /**
   * Reserves memory for a body. If there is none, slow bodies are broken off first: those of the sender itself or of
   * other holders where these have too much, and otherwise those of senders that have no better token.
   *
   * @throws {@link BodyError} `body_no_room`
   */
  reserve(bytes: number, body: BodyReservation): void {
    const { holder } = body
    if (holder !== undefined) {
      const isAlike = (other: BodyReservation): boolean => other.holder === holder
      this.#makeRoom(body, isAlike, () => this.#heldBy(holder) + bytes <= this.#total / holderShare)
      const isHeld = (other: BodyReservation): boolean => other.holder !== undefined
      this.#makeRoom(body, isHeld, () => this.#held + bytes <= this.#total / holdersShare)
    }
    const isNotBetter = (other: BodyReservation): boolean => other.standing <= body.standing
    this.#makeRoom(body, isNotBetter, () => this.#used + bytes <= this.#total)
    this.#used += bytes
    if (holder === undefined) return
    this.#held += bytes
    this.#byHolder.set(holder, this.#heldBy(holder) + bytes)
  }

  /** Returns memory that was reserved for the same holder. */
  release(bytes: number, { holder }: BodyReservation): void {
    this.#used -= bytes
    if (holder === undefined) return
    this.#held -= bytes
    const left = this.#heldBy(holder) - bytes
    if (left > 0) this.#byHolder.set(holder, left)
    else this.#byHolder.delete(holder)
  }

  /** Adds a body that waits for its sender. Returns the time. */
  begin(body: BodyReservation): number {
    this.#arriving.add(body)
    return this.#now()
  }

  /** Removes a body that no longer waits for its sender. */
  end(body: BodyReservation): void {
    this.#arriving.delete(body)
  }

  #heldBy(holder: string): number {
    return this.#byHolder.get(holder) ?? 0
  }

  /** Breaks slow bodies off until there is room. A body that is itself the next one gets no room. */
  #makeRoom(body: BodyReservation, matches: (other: BodyReservation) => boolean, hasRoom: () => boolean): void {
    while (!hasRoom()) {
      const slow = this.#slowest(matches)
      if (slow === undefined || slow === body) throw new BodyError('body_no_room')
      slow.breakOff()
    }
  }

  /**
   * The body to break off: of the senders with the lowest standing, the one whose bodies have the most memory, and of
   * its bodies the oldest one.
   */
  #slowest(matches: (other: BodyReservation) => boolean): BodyReservation | undefined {
    const bytes = new Map<string, number>()
    for (const body of this.#arriving) {
      if (matches(body)) bytes.set(body.sender, (bytes.get(body.sender) ?? 0) + body.bytes)
    }
    const latest = this.#now() - this.#slowMs
    let found: BodyReservation | undefined
    for (const body of this.#arriving) {
      if (body.since > latest) break
      if (body.bytes === 0 || !matches(body)) continue
      const isFirst =
        found === undefined ||
        body.standing < found.standing ||
        (body.standing === found.standing && bytes.get(body.sender)! > bytes.get(found.sender)!)
      if (isFirst) found = body
    }
    return found
  }
}

/** The part of a budget that one request has. */
export class BodyReservation {
  readonly #budget: BodyBudget
  readonly #address: (() => string | undefined) | undefined
  #sender: string | undefined
  #bytes = 0
  #since = 0
  #onBreakOff: (() => void) | undefined
  readonly holder: string | undefined
  /** Orders the senders: those without a token, named holders, the owner. */
  readonly standing: 0 | 1 | 2

  constructor(budget: BodyBudget, { holder, isOwner = false, address }: BodySender = {}) {
    this.#budget = budget
    this.#address = address
    this.holder = holder
    this.standing = isOwner ? 2 : holder === undefined ? 0 : 1
  }

  /** The memory that is reserved. */
  get bytes(): number {
    return this.#bytes
  }

  /** When the body began to wait for its sender. */
  get since(): number {
    return this.#since
  }

  /** Equal for bodies of one sender, as far as senders can be told apart. */
  get sender(): string {
    this.#sender ??= `${this.standing} ${this.holder ?? network(this.#address?.())}`
    return this.#sender
  }

  /** @throws {@link BodyError} `body_no_room` */
  readonly reserve = (bytes: number): void => {
    this.#budget.reserve(bytes, this)
    this.#bytes += bytes
  }

  /**
   * Reserves the memory of a body that has arrived, or wipes the body.
   *
   * @throws {@link BodyError} `body_no_room`
   */
  reserveFor(body: Buffer): Buffer {
    try {
      this.reserve(body.length)
    } catch (error) {
      body.fill(0)
      throw error
    }
    return body
  }

  /** From now on, the body may be broken off. `onBreakOff` must drop it. */
  begin(onBreakOff: (error: BodyError) => void): void {
    this.#onBreakOff = () => onBreakOff(new BodyError('body_timeout', tooSlow))
    this.#since = this.#budget.begin(this)
  }

  /** The body has arrived, and is not broken off any more. */
  end(): void {
    this.#budget.end(this)
    this.#onBreakOff = undefined
  }

  /** Drops the body and returns its memory. */
  breakOff(): void {
    const drop = this.#onBreakOff
    this.release()
    drop?.()
  }

  /** Returns everything that was reserved. May be called twice. */
  release(): void {
    this.end()
    if (this.#bytes > 0) this.#budget.release(this.#bytes, this)
    this.#bytes = 0
  }
}

const tooSlow = 'the request body arrived too slowly, and its memory was needed for other requests'

/** One sender often has all addresses of a /64 network in IPv6. */
function network(address = ''): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [left = [], right] = address.split('::').map((part) => (part === '' ? [] : part.split(':')))
  const zeros = right === undefined ? 0 : 8 - left.length - right.length
  return [...left, ...Array<string>(Math.max(0, zeros)).fill('0'), ...(right ?? [])].slice(0, 4).join(':')
}
