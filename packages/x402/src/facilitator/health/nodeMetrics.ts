/** Metrics of the nodes, for Prometheus. */
import type { NodeStatus } from '@latchkey/algod'
import type * as Prometheus from '@latchkey/system/prometheus'
import type { Chain } from '../../chain/Chain.js'

const gauges: { readonly [name: string]: readonly [help: string, read: (node: NodeStatus) => number | undefined] } = {
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
    ...Object.entries(gauges).map(([name, [help, read]]): Prometheus.Metric => {
      const samples = nodes.flatMap(({ network, node }) => {
        const value = read(node)
        return value === undefined ? [] : [{ labels: { network, node: node.name }, value }]
      })
      return { name: `latchkey_facilitator_${name}`, help, type: 'gauge', samples }
    }),
    { name: 'latchkey_facilitator_node_calls_total', help, type: 'counter', samples: calls },
  ]
}
