/** A facilitator on a fake node. */
import type { TestContext } from 'node:test'
import { FakeNode } from '../../../algod/dist/FakeNode.test.helper.js'
import { sponsor } from '../../../x402-wire/dist/payments.test.helper.js'
import { Chain } from '../chain/Chain.js'
import * as Signer from '../signer/Signer.js'
import { Facilitator } from './Facilitator.js'
import type { FacilitatorOptions } from './FacilitatorOptions.js'

export type Setup = { node: FakeNode; chain: Chain; facilitator: Facilitator; errors: unknown[] }

export async function setUp(t: TestContext, options: Partial<FacilitatorOptions> = {}): Promise<Setup> {
  const node = new FakeNode()
  const chain = await openChain(node)
  const errors: unknown[] = []
  const facilitator = new Facilitator({
    chains: [chain],
    feePayer: Signer.fromSeed(sponsor.seed),
    settleTimeoutMs: 2_000,
    pollMs: 5,
    onError: (error) => errors.push(error),
    ...options,
  })
  t.after(() => facilitator.stop())
  return { node, chain, facilitator, errors }
}

export function openChain(...nodes: FakeNode[]): Promise<Chain> {
  const byHost = new Map(nodes.map((node, index) => [`node${index}`, node]))
  return Chain.open({
    network: 'testnet',
    nodes: [...byHost.keys()].map((host) => `http://${host}`),
    timeoutMs: 200,
    fetch: (input, init) => byHost.get(new URL(String(input)).hostname)!.fetch(String(input), init ?? {}),
  })
}
