import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Prometheus from './Prometheus.js'

test('samples follow directly after the HELP and TYPE of their metric', () => {
  const text = Prometheus.write([
    {
      name: 'requests_total',
      help: 'Requests by status.',
      type: 'counter',
      samples: [
        { labels: { status: 200, path: '/v1' }, value: 3 },
        { labels: { status: 500, path: '/v1' }, value: 2n ** 64n },
      ],
    },
    {
      name: 'seconds',
      help: 'Duration.',
      type: 'summary',
      samples: [
        { labels: { quantile: 0.5 }, value: 0.25 },
        { suffix: '_sum', value: 1.5 },
        { suffix: '_count', value: 6 },
      ],
    },
  ])
  assert.equal(
    text,
    `# HELP requests_total Requests by status.
# TYPE requests_total counter
requests_total{status="200",path="/v1"} 3
requests_total{status="500",path="/v1"} 18446744073709551616
# HELP seconds Duration.
# TYPE seconds summary
seconds{quantile="0.5"} 0.25
seconds_sum 1.5
seconds_count 6
`,
  )
})

test('labels and help are escaped', () => {
  const samples = [{ labels: { name: 'a"b\\c\nd' }, value: 1 }]
  const text = Prometheus.write([{ name: 'x', help: 'a "quote", a \\ and\na line', type: 'gauge', samples }])
  assert.equal(text, '# HELP x a "quote", a \\\\ and\\na line\n# TYPE x gauge\nx{name="a\\"b\\\\c\\nd"} 1\n')
})

test('infinite and missing values use the spelling of the format', () => {
  const samples = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 1e21].map((value) => ({ value }))
  const [, , ...lines] = Prometheus.write([{ name: 'x', help: 'h', type: 'gauge', samples }])
    .trim()
    .split('\n')
  assert.deepEqual(lines, ['x +Inf', 'x -Inf', 'x NaN', 'x 1e+21'])
})

test('a metric without samples keeps its HELP and TYPE', () => {
  assert.equal(Prometheus.write([{ name: 'x', help: 'h', type: 'gauge', samples: [] }]), '# HELP x h\n# TYPE x gauge\n')
  assert.match(Prometheus.contentType, /^text\/plain; version=0\.0\.4/)
})
