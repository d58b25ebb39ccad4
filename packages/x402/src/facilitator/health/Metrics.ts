/** The metrics of a facilitator and its nodes, for Prometheus, and its spans, if an SDK for tracing is registered. */
import type { NodeStatus } from '@latchkey/algod'
import * as Tracing from '@latchkey/algod/tracing'
import * as Prometheus from '@latchkey/system/prometheus'
import type { SettleResponse, VerifyResponse } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import type { Caller } from '../limits/Policy.js'

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

const nodeGauges: { readonly [name: string]: readonly [help: string, read: (node: NodeStatus) => number | undefined] } =
  {
    node_up: ['Whether a node is in use: 0 for a while after a failure.', ({ isUp }) => Number(isUp)],
    node_avoided: [
      'Whether a node is avoided because it is slow, behind or failing.',
      ({ isAvoided }) => Number(isAvoided),
    ],
    node_round: [
      'The last round that a node reported.',
      ({ round }) => (round === undefined ? undefined : Number(round)),
    ],
    node_rounds_behind: [
      'Rounds by which a node was behind the best other node when it reported its round.',
      ({ roundsBehind }) => Number(roundsBehind),
    ],
    node_latency_seconds: [
      'Response time of a node, as a moving average.',
      ({ latencyMs }) => (latencyMs === undefined ? undefined : latencyMs / 1000),
    ],
  }

export function nodeMetrics(chains: readonly Chain[]): Prometheus.Metric[] {
  const nodes = chains.flatMap(({ caip2: network, algod }) => algod.nodes().map((node) => ({ network, node })))
  const calls = nodes.flatMap(({ network, node: { name, calls, failures } }) => [
    { labels: { network, node: name, outcome: 'ok' }, value: calls - failures },
    { labels: { network, node: name, outcome: 'failed' }, value: failures },
  ])
  const help = 'Requests to a node, by outcome.'
  return [
    ...Object.entries(nodeGauges).map(([name, [help, read]]): Prometheus.Metric => {
      const samples = nodes.flatMap(({ network, node }) => {
        const value = read(node)
        return value === undefined ? [] : [{ labels: { network, node: node.name }, value }]
      })
      return { name: `latchkey_facilitator_${name}`, help, type: 'gauge', samples }
    }),
    { name: 'latchkey_facilitator_node_calls_total', help, type: 'counter', samples: calls },
  ]
}

/** Traces a gate's call as part of the gate's own trace. Later spans are nested in this one. */
export function traceOperation<T extends VerifyResponse | SettleResponse>(
  name: 'verify' | 'settle',
  { requestId, header }: Caller,
  work: () => Promise<T>,
): Promise<T> {
  if (!Tracing.isOn()) return work()
  const remote = header === undefined ? {} : { kind: 'server' as const, parent: Tracing.parentOf(header) }
  const attributes = { [Tracing.names.requestId]: requestId }
  // In the gate's own process, the call is a part of the gate's request.
  const isRequest = header !== undefined
  return Tracing.span(`facilitator.${name}`, { ...remote, isRequest, attributes }, async (span) => {
    const response = await work()
    span.set({ [Tracing.names.outcome]: outcomeOf(response) })
    return response
  })
}

export function tracePayment(transactionId: string, network: string): void {
  Tracing.annotate({ [Tracing.names.payment]: transactionId, [Tracing.names.network]: network })
}

function outcomeOf(response: VerifyResponse | SettleResponse): string {
  if ('isValid' in response) return response.isValid ? 'valid' : String(response.invalidReason)
  return response.success ? 'settled' : String(response.errorReason)
}
