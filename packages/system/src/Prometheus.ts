/**
 * Metrics in the text format of Prometheus, version 0.0.4. The samples of a metric directly follow its HELP and TYPE
 * lines, as the format requires. Uses no module of Node.
 */

/** The labels of a sample. Values are escaped. */
export type Labels = { readonly [name: string]: string | number }

/** One measured value of a metric. */
export type Sample = {
  /**
   * Appended to the metric's name: `_sum`, `_count`.
   *
   * @default ''
   */
  readonly suffix?: string | undefined
  /** @default none */
  readonly labels?: Labels | undefined
  readonly value: number | bigint
}

/** A metric with all of its samples. */
export type Metric = {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'summary'
  readonly samples: readonly Sample[]
}

/** The Content-Type of a response in this format. */
export const contentType = 'text/plain; version=0.0.4; charset=utf-8'

/**
 * Writes metrics as the body of a scrape.
 *
 * @example
 * Prometheus.write([{ name: 'up', help: 'Whether it runs.', type: 'gauge', samples: [{ value: 1 }] }])
 */
export function write(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap(({ name, help, type, samples }) => [
    `# HELP ${name} ${escapeText(help, /[\\\n]/g)}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(({ suffix = '', labels, value }) => `${name}${suffix}${writeLabels(labels)} ${writeValue(value)}`),
  ])
  return `${lines.join('\n')}\n`
}

function writeLabels(labels: Labels = {}): string {
  const entries = Object.entries(labels)
  if (entries.length === 0) return ''
  return `{${entries.map(([name, value]) => `${name}="${escapeText(String(value), /[\\"\n]/g)}"`).join(',')}}`
}

/** Go's notation of numbers, which the format uses. */
function writeValue(value: number | bigint): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}

function escapeText(text: string, special: RegExp): string {
  return text.replace(special, (character) => (character === '\n' ? '\\n' : `\\${character}`))
}
