/** Counters and gauges of the facilitator, for Prometheus. */
import * as Prometheus from '@latchkey/system/prometheus'

const counters = {
  verify: 'Payments verified, by outcome.',
  settle: 'Settlements requested, by outcome.',
} as const

const gauges = {
  pending: 'Settlements in progress.',
  round: 'The last round seen, by network.',
  healthy:
    'Whether the facilitator can settle: 1 if the database and nodes responded and a fee account can pay and sign, at the last check.',
  ready:
    'Whether the facilitator accepts payments: 1 if it can settle and is not shutting down, like GET /readyz at the last check.',
  draining: 'Whether the facilitator is shutting down: 1 once it has received the signal to stop.',
  store_up: 'Whether the settlements database responded at the last check: 1 or 0.',
  store_connections: 'Database connections: in_use, idle, and calls waiting for one.',
  store_max_connections: 'Maximum number of database connections.',
  differing_replicas: 'Replicas on the same database with different settings, at the last check.',
  can_sign: 'Whether the key of a fee account could sign at the last check, by account: 1 or 0.',
  fee_balance_microalgos: 'Balance that a fee account can spend on fees, in microAlgos, by network and account.',
} as const

type Counter = keyof typeof counters
type Gauge = keyof typeof gauges

export class Metrics {
  readonly #more: () => readonly Prometheus.Metric[]
  readonly #counts = new Map<Counter, Map<string, number>>()
  /** Preset, because an alert on a gauge that is missing until the first settlement would not work. */
  readonly #gauges = new Map<Gauge, Map<string, Value>>([['pending', new Map([['', { value: 0 }]])]])

  /** @param more metrics that are collected when the text is written */
  constructor(more: () => readonly Prometheus.Metric[] = () => []) {
    this.#more = more
  }

  count(what: Counter, outcome: string): void {
    const counts = samplesOf(this.#counts, what)
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  }

  /** Sets the gauge with these labels, or the gauge without labels. */
  set(what: Gauge, value: number, labels?: Prometheus.Labels): void {
    samplesOf(this.#gauges, what).set(keyOf(labels), { value, labels })
  }

  /** Removes a gauge whose value is no longer known. */
  remove(what: Gauge, labels?: Prometheus.Labels): void {
    this.#gauges.get(what)?.delete(keyOf(labels))
  }

  text(): string {
    return Prometheus.write([
      ...(Object.keys(counters) as Counter[]).map((what) => this.#counter(what)),
      ...(Object.keys(gauges) as Gauge[]).map((what) => this.#gauge(what)),
      ...this.#more(),
    ])
  }

  #counter(what: Counter): Prometheus.Metric {
    const samples = [...(this.#counts.get(what) ?? [])].map(([outcome, value]) => ({ labels: { outcome }, value }))
    return { name: `latchkey_facilitator_${what}_total`, help: counters[what], type: 'counter', samples }
  }

  #gauge(what: Gauge): Prometheus.Metric {
    const samples = [...(this.#gauges.get(what)?.values() ?? [])]
    return { name: `latchkey_facilitator_${what}`, help: gauges[what], type: 'gauge', samples }
  }
}

type Value = { readonly value: number; readonly labels?: Prometheus.Labels | undefined }

function keyOf(labels: Prometheus.Labels | undefined): string {
  return labels === undefined ? '' : JSON.stringify(labels)
}

function samplesOf<Name, Sample>(all: Map<Name, Map<string, Sample>>, name: Name): Map<string, Sample> {
  let samples = all.get(name)
  if (samples === undefined) {
    samples = new Map()
    all.set(name, samples)
  }
  return samples
}
