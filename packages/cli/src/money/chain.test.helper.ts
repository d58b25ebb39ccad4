/** A chain with a node whose responses the test sets. */
import { Chain } from '@latchkey/x402/client'
import { FakeNode, missing, ok } from '../../../algod/dist/FakeNode.test.helper.js'

export { FakeNode, missing, ok }

export async function openTestChain(
  node: FakeNode,
  options: { readonly network?: string; readonly dollarAssetId?: bigint } = {},
): Promise<Chain> {
  const { network = 'testnet', dollarAssetId } = options
  return Chain.open({ network, nodes: 'http://n0', dollarAssetId, fetch: node.fetch as typeof fetch })
}
