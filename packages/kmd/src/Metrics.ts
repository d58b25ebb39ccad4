/** Counts for Prometheus, in its text format: requests and their time by operation, and how things stand now. */
export type Gauge = { name: string; help: string; read: () => number }

type Series = { count: number; seconds: number; byStatus: Map<number, number> }

export class Metrics {
  readonly #series = new Map<string, Series>()
  readonly #gauges: Gauge[] = []

  gauge(gauge: Gauge): void {
    this.#gauges.push(gauge)
  }

  /** `operation` is an operation's id and never a text of the caller's: what is counted must stay bounded. */
  observe(operation: string, status: number, seconds: number): void {
    let series = this.#series.get(operation)
    if (series === undefined) {
      series = { count: 0, seconds: 0, byStatus: new Map() }
      this.#series.set(operation, series)
    }
    series.count++
    series.seconds += seconds
    series.byStatus.set(status, (series.byStatus.get(status) ?? 0) + 1)
  }

  text(): string {
    const lines = [
      '# HELP latchkey_requests_total Requests answered, by operation and status.',
      '# TYPE latchkey_requests_total counter',
    ]
    for (const [operation, { byStatus }] of this.#series) {
      for (const [status, count] of byStatus) {
        lines.push(`latchkey_requests_total{operation="${operation}",status="${status}"} ${count}`)
      }
    }
    lines.push(
      '# HELP latchkey_request_seconds Time from a request to its answer, by operation.',
      '# TYPE latchkey_request_seconds summary',
    )
    for (const [operation, { count, seconds }] of this.#series) {
      lines.push(`latchkey_request_seconds_sum{operation="${operation}"} ${seconds}`)
      lines.push(`latchkey_request_seconds_count{operation="${operation}"} ${count}`)
    }
    for (const { name, help, read } of this.#gauges) {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, `${name} ${read()}`)
    }
    return `${lines.join('\n')}\n`
  }
}
