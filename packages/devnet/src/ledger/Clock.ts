/**
 * The time blocks are stamped with, in seconds, by the rules of a node in dev mode: the machine's clock, never before
 * the last block and at most 25 s after it; or, once an offset is set, always that much after it.
 */
import * as Consensus from './Consensus.js'

export type ClockState = {
  readonly offsetSeconds: bigint | undefined
  /** How far the clock was moved ahead of the machine's. */
  readonly aheadSeconds: bigint
  /** The next block's stamp, if somebody set it. */
  readonly nextTimestamp: bigint | undefined
}

/** Stamps are signed integers of 64 bits on a node. */
export const latestTimestamp = 2n ** 63n - 1n

export const initial: ClockState = { offsetSeconds: undefined, aheadSeconds: 0n, nextTimestamp: undefined }

export class Clock {
  readonly #nowMs: () => number
  state: ClockState = initial

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  seconds(): bigint {
    return BigInt(Math.floor(this.#nowMs() / 1000)) + this.state.aheadSeconds
  }

  /** The stamp of the block after one with this stamp, and what the clock is once that block is made. */
  next(previous: bigint): { timestamp: bigint; state: ClockState } {
    const state = { ...this.state, nextTimestamp: undefined }
    const timestamp = this.state.nextTimestamp ?? this.#following(previous)
    return { timestamp: timestamp > latestTimestamp ? latestTimestamp : timestamp, state }
  }

  #following(previous: bigint): bigint {
    const { offsetSeconds } = this.state
    if (offsetSeconds !== undefined) return previous + offsetSeconds
    const now = this.seconds()
    if (previous === 0n) return now
    const latest = previous + Consensus.maxTimestampStepSeconds
    return now < previous ? previous : now > latest ? latest : now
  }

  /** What it would be if it were that time now: for the next block, and running on from there. */
  stateAt(timestamp: bigint): ClockState {
    const aheadSeconds = timestamp - (this.seconds() - this.state.aheadSeconds)
    return { offsetSeconds: undefined, aheadSeconds, nextTimestamp: timestamp }
  }
}
