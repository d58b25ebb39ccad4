/** The Prometheus text format: every metric's samples directly under its HELP and TYPE lines, as the format asks. */

export type Labels = { readonly [name: string]: string | number }

export type Sample = {
  /** Put after the metric's name: `_sum`, `_count`. */
  readonly suffix?: string | undefined
  readonly labels?: Labels | undefined
  readonly value: number | bigint
}

export type Metric = {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'summary'
  readonly samples: readonly Sample[]
}

/** What a response in this format says it is. */
export const contentType = 'text/plain; version=0.0.4; charset=utf-8'

/** The metrics as a scrape expects them. */
export function write(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap(({ name, help, type, samples }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(({ suffix = '', labels, value }) => `${name}${suffix}${writeLabels(labels)} ${value}`),
  ])
  return `${lines.join('\n')}\n`
}

function writeLabels(labels: Labels | undefined): string {
  const entries = Object.entries(labels ?? {})
  if (entries.length === 0) return ''
  return `{${entries.map(([name, value]) => `${name}="${escapeLabel(String(value))}"`).join(',')}}`
}

function escapeLabel(value: string): string {
  return value.replace(/[\\"\n]/g, (letter) => (letter === '\n' ? '\\n' : `\\${letter}`))
}
