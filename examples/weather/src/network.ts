/** The network of seller and buyer: TestNet by default; AVM_NETWORK, ALGOD_URL and USDC_ASSET_ID select another. */
import { Chain } from '@latchkey/x402/client'

export function openChain(): Promise<Chain> {
  const { AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, USDC_ASSET_ID: dollar } = process.env
  return Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) })
}
