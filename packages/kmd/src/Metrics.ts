/** Metrics in the Prometheus text format: requests and their duration by operation, and gauges. */
import * as Prometheus from '@latchkey/system/prometheus'

export type Gauge = { name: string; help: string; read: () => number }

type Series = { count: number; seconds: number; byStatus: Map<number, number> }

export class Metrics {
  readonly #series = new Map<string, Series>()
  readonly #gauges: Gauge[] = []

  gauge(gauge: Gauge): void {
    this.#gauges.push(gauge)
  }

  /** `operation` is an operation id, never text of the caller, because the number of series must stay bounded. */
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
    const series = [...this.#series]
    return Prometheus.write([
      {
        name: 'latchkey_requests_total',
        help: 'Requests, by operation and status.',
        type: 'counter',
        samples: series.flatMap(([operation, { byStatus }]) =>
          [...byStatus].map(([status, value]) => ({ labels: { operation, status }, value })),
        ),
      },
      {
        name: 'latchkey_request_seconds',
        help: 'Time from a request to its response, by operation.',
        type: 'summary',
        samples: series.flatMap(([operation, { count, seconds }]) => [
          { suffix: '_sum', labels: { operation }, value: seconds },
          { suffix: '_count', labels: { operation }, value: count },
        ]),
      },
      ...this.#gauges.map(({ name, help, read }) => ({
        name,
        help,
        type: 'gauge' as const,
        samples: [{ value: read() }],
      })),
    ])
  }
}
