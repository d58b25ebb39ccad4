import { DevnetError } from './DevnetError.js'

/** A failure injected on purpose, to test programs against it. It applies to the next `count` requests of its kind. */
export type Fault =
  /** Submissions take effect immediately, and get their response `ms` milliseconds later. */
  | { readonly type: 'delay'; readonly ms: number; readonly count: number }
  /** A submission takes effect, and the connection is closed without a response. */
  | { readonly type: 'drop'; readonly count: number }
  /** A submission gets this error and has no effect. */
  | { readonly type: 'fail'; readonly status: number; readonly message: string; readonly count: number }
  /** A submission is accepted, but automatic blocks wait `ms` milliseconds. A mined block includes it. */
  | { readonly type: 'hold'; readonly ms: number; readonly count: number }
  /** The lookup of a transaction gets 404 although the transaction exists. */
  | { readonly type: 'lose'; readonly count: number }

type OfType<T extends Fault['type']> = Extract<Fault, { type: T }>

export const maxFaults = 100

export class Faults {
  #faults: Fault[] = []

  add(fault: Fault): void {
    if (this.#faults.length >= maxFaults) {
      throw new DevnetError('too_many_faults', `${maxFaults} faults are already pending`)
    }
    this.#faults.push(fault)
  }

  list(): readonly Fault[] {
    return this.#faults
  }

  clear(): void {
    this.#faults = []
  }

  /** Uses the first fault of this type once, which decrements its count. */
  take<T extends Fault['type']>(type: T): OfType<T> | undefined {
    if (this.#faults.length === 0) return undefined
    const index = this.#faults.findIndex((fault) => fault.type === type)
    if (index < 0) return undefined
    const fault = this.#faults[index] as OfType<T>
    if (fault.count > 1) this.#faults[index] = { ...fault, count: fault.count - 1 }
    else this.#faults.splice(index, 1)
    return fault
  }
}
