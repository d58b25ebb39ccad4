/** Counts, for Prometheus. */
export class Metrics {
  readonly #counts = new Map<string, number>()
  readonly #gauges = new Map<string, number>()

  count(what: 'verify' | 'settle', outcome: string): void {
    const name = `latchkey_facilitator_${what}_total{outcome="${outcome}"}`
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }

  gauge(what: 'pending' | 'round', network: string, value: number): void {
    const labels = network === '' ? '' : `{network="${network}"}`
    this.#gauges.set(`latchkey_facilitator_${what}${labels}`, value)
  }

  text(): string {
    const lines = [
      '# HELP latchkey_facilitator_verify_total payments verified, by outcome',
      '# TYPE latchkey_facilitator_verify_total counter',
      '# HELP latchkey_facilitator_settle_total settlements answered, by outcome',
      '# TYPE latchkey_facilitator_settle_total counter',
      '# HELP latchkey_facilitator_pending settlements attended to just now',
      '# TYPE latchkey_facilitator_pending gauge',
      '# HELP latchkey_facilitator_round the last round seen, by network',
      '# TYPE latchkey_facilitator_round gauge',
      ...[...this.#counts, ...this.#gauges].map(([name, value]) => `${name} ${value}`),
    ]
    return `${lines.join('\n')}\n`
  }
}
