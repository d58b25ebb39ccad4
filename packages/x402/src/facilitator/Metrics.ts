/** Counters and gauges of the facilitator, for Prometheus. */
import * as Prometheus from '@latchkey/system/prometheus'

type Counter = 'verify' | 'settle'
type Gauge = 'pending' | 'round'

export class Metrics {
  readonly #counts = { verify: new Map<string, number>(), settle: new Map<string, number>() }
  readonly #gauges = { pending: new Map<string, number>(), round: new Map<string, number>() }

  count(what: Counter, outcome: string): void {
    const counts = this.#counts[what]
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  }

  gauge(what: Gauge, network: string, value: number): void {
    this.#gauges[what].set(network, value)
  }

  text(): string {
    return Prometheus.write([
      this.#counter('verify', 'Payments verified, by outcome.'),
      this.#counter('settle', 'Settlements requested, by outcome.'),
      this.#gauge('pending', 'Settlements in progress.'),
      this.#gauge('round', 'The last round seen, by network.'),
    ])
  }

  #counter(what: Counter, help: string): Prometheus.Metric {
    const samples = [...this.#counts[what]].map(([outcome, value]) => ({ labels: { outcome }, value }))
    return { name: `latchkey_facilitator_${what}_total`, help, type: 'counter', samples }
  }

  #gauge(what: Gauge, help: string): Prometheus.Metric {
    const samples = [...this.#gauges[what]].map(([network, value]) => ({
      labels: network === '' ? undefined : { network },
      value,
    }))
    return { name: `latchkey_facilitator_${what}`, help, type: 'gauge', samples }
  }
}
