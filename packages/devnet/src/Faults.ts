/** What goes wrong on purpose, so that programs can be tried against it. Each fault waits for its occasion. */
export type Fault =
  /** Submissions are answered this much later; they take effect at once. */
  | { readonly type: 'delay'; readonly ms: number; readonly count: number }
  /** A submission takes effect, and its answer never comes. */
  | { readonly type: 'drop'; readonly count: number }
  /** A submission is answered with this error and has no effect. */
  | { readonly type: 'fail'; readonly status: number; readonly message: string; readonly count: number }
  /** A submission is accepted, and blocks that come by themselves wait this long; one that is mined takes it along. */
  | { readonly type: 'hold'; readonly ms: number; readonly count: number }
  /** A transaction that is there is not found when asked for. */
  | { readonly type: 'lose'; readonly count: number }

type OfType<T extends Fault['type']> = Extract<Fault, { type: T }>

export const maxFaults = 100

export class Faults {
  #faults: Fault[] = []

  add(fault: Fault): void {
    if (this.#faults.length >= maxFaults) throw new RangeError(`${maxFaults} faults wait already`)
    this.#faults.push(fault)
  }

  list(): readonly Fault[] {
    return this.#faults
  }

  clear(): void {
    this.#faults = []
  }

  /** The first fault of the kind, which happens now, and once less after this. */
  take<T extends Fault['type']>(type: T): OfType<T> | undefined {
    if (this.#faults.length === 0) return undefined
    const index = this.#faults.findIndex((fault) => fault.type === type)
    if (index < 0) return undefined
    const fault = this.#faults[index] as OfType<T>
    if (fault.count > 1) this.#faults[index] = { ...fault, count: fault.count - 1 }
    else this.#faults.splice(index, 1)
    return fault
  }

  takeHold(): number | undefined {
    return this.take('hold')?.ms
  }
}
