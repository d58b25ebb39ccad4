/** Counters and gauges of the facilitator, for Prometheus. */
import * as Prometheus from '@latchkey/system/prometheus'

const counters = {
  verify: 'Payments verified, by outcome.',
  settle: 'Settlements requested, by outcome.',
} as const

const gauges = {
  pending: 'Settlements in progress.',
  round: 'The last round seen, by network.',
  healthy: 'Whether it can settle: 1 if nodes answer and the fee account can pay and sign, at the last check.',
  can_sign: 'Whether the key of the fee account could sign at the last check: 1 or 0.',
  fee_balance_microalgos: 'What the fee account can spend on fees, in microAlgos, by network.',
} as const

type Counter = keyof typeof counters
type Gauge = keyof typeof gauges

export class Metrics {
  readonly #counts = new Map<Counter, Map<string, number>>()
  /** An alert on a gauge that is missing until the first settlement would not work. */
  readonly #gauges = new Map<Gauge, Map<string, number>>([['pending', new Map([['', 0]])]])

  count(what: Counter, outcome: string): void {
    const counts = samplesOf(this.#counts, what)
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  }

  /** Sets a gauge, of one network or of all. */
  set(what: Gauge, value: number, network = ''): void {
    samplesOf(this.#gauges, what).set(network, value)
  }

  /** Removes a gauge whose value is no longer known. */
  remove(what: Gauge, network = ''): void {
    this.#gauges.get(what)?.delete(network)
  }

  text(): string {
    return Prometheus.write([
      ...(Object.keys(counters) as Counter[]).map((what) => this.#counter(what)),
      ...(Object.keys(gauges) as Gauge[]).map((what) => this.#gauge(what)),
    ])
  }

  #counter(what: Counter): Prometheus.Metric {
    const samples = [...(this.#counts.get(what) ?? [])].map(([outcome, value]) => ({ labels: { outcome }, value }))
    return { name: `latchkey_facilitator_${what}_total`, help: counters[what], type: 'counter', samples }
  }

  #gauge(what: Gauge): Prometheus.Metric {
    const samples = [...(this.#gauges.get(what) ?? [])].map(([network, value]) => ({
      labels: network === '' ? undefined : { network },
      value,
    }))
    return { name: `latchkey_facilitator_${what}`, help: gauges[what], type: 'gauge', samples }
  }
}

function samplesOf<Name>(all: Map<Name, Map<string, number>>, name: Name): Map<string, number> {
  let samples = all.get(name)
  if (samples === undefined) {
    samples = new Map()
    all.set(name, samples)
  }
  return samples
}
