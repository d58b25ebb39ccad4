/** The clock's state as JSON. */
import type { ClockState } from '../../ledger/Clock.js'
import type { JsonCursor } from './JsonCursor.js'

export function toJson({ offsetSeconds, aheadSeconds, nextTimestamp }: ClockState): object {
  return {
    aheadSeconds: aheadSeconds.toString(),
    offsetSeconds: offsetSeconds?.toString(),
    nextTimestamp: nextTimestamp?.toString(),
  }
}

export function fromJson(member: JsonCursor): ClockState {
  const clock = member.object(['aheadSeconds'], ['offsetSeconds', 'nextTimestamp'])
  return {
    offsetSeconds: clock.offsetSeconds?.unsigned(),
    aheadSeconds: clock.aheadSeconds.signed(),
    nextTimestamp: clock.nextTimestamp?.unsigned(),
  }
}
