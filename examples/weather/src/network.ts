/** The network that seller and buyer meet on: TestNet, unless AVM_NETWORK, ALGOD_URL and USDC_ASSET_ID say otherwise. */
import { Chain } from '@latchkey/x402/client'

export function openChain(): Promise<Chain> {
  const { AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, USDC_ASSET_ID: dollar } = process.env
  return Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) })
}
