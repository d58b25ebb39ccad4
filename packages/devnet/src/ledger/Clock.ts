/**
 * Block timestamps in seconds, by the rules of a node in dev mode: the machine's clock, never before the last block and
 * at most 25 s after it. Once an offset is set, always that many seconds after it.
 */
import * as Consensus from './Consensus.js'

export type ClockState = {
  readonly offsetSeconds: bigint | undefined
  /** How far this clock is ahead of the machine's. */
  readonly aheadSeconds: bigint
  /** The timestamp of the next block, if it was set. */
  readonly nextTimestamp: bigint | undefined
}

/** Timestamps are signed 64-bit integers on a node. */
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

  /** Returns the timestamp of the block after one with the timestamp `previous`, and the clock after that block. */
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

  /** Returns the clock with `timestamp` as the time of the next block, from which it continues. */
  stateAt(timestamp: bigint): ClockState {
    const aheadSeconds = timestamp - (this.seconds() - this.state.aheadSeconds)
    return { offsetSeconds: undefined, aheadSeconds, nextTimestamp: timestamp }
  }
}
