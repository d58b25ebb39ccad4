/** Prints the medians of each daemon with their samples, and the ratios between daemons. */
import { availableParallelism } from 'node:os'
import type { Candidate } from './Candidate.js'
import { median, pairedRatio, tidy } from './Statistics.js'

export type Method = {
  quick: boolean
  window_ms: number
  warm_up_ms: number
  rounds: Record<string, number>
  /** The load average of the machine before the run. If it is well above zero, only the ratios are meaningful. */
  load_before: number
}

/** Returns each quantity as the median of its samples, with one sample per round. */
export function result({ identity, samples }: Candidate, method: Method): object {
  const entries = [...samples]
  return {
    name: identity.name,
    command: identity.shownCommand,
    ...(identity.nodeVersion === undefined ? {} : { nodeVersion: identity.nodeVersion }),
    ...Object.fromEntries(entries.map(([quantity, values]) => [quantity, tidy(median(values))])),
    cpus: availableParallelism(),
    method,
    samples: Object.fromEntries(entries.map(([quantity, values]) => [quantity, values.map(tidy)])),
  }
}

/** Returns ours divided by each other daemon: above 1 is better for per_s and ratio, below 1 for ms, us and mb. */
export function ratios(ours: Candidate, others: readonly Candidate[]): object {
  const against = (other: Candidate): object =>
    Object.fromEntries(
      [...ours.samples].map(([quantity, values]) => [
        quantity,
        tidy(pairedRatio(values, other.samples.get(quantity) ?? [])),
      ]),
    )
  return {
    ratios: `${ours.identity.name} divided by the other, median over the rounds`,
    ...Object.fromEntries(others.map((other) => [other.identity.name, against(other)])),
  }
}
