/**
 * Runs a local chain with the ids of TestNet, in place of TestNet and of the websites that give test money. Prints its
 * URL; then each line on stdin, `{"address", "microAlgos", "microDollars"}`, is paid to the address and answered with the
 * dollars that the address holds.
 */
import { createInterface } from 'node:readline'
import { Network } from '@latchkey/algorand'
import { Devnet } from '@latchkey/devnet'

type Gift = { readonly address: string; readonly microAlgos?: number; readonly microDollars?: number }

const { genesisHash, genesisId, usdcAssetId } = Network.testnet
const devnet = await Devnet.start({ port: 0, genesisHash, genesisId })
console.log(JSON.stringify({ url: devnet.url }))
for await (const line of createInterface({ input: process.stdin })) {
  const { address, microAlgos, microDollars } = JSON.parse(line) as Gift
  if (microAlgos !== undefined) devnet.fund(address, { microAlgos: BigInt(microAlgos) })
  if (microDollars !== undefined) {
    devnet.fund(address, { assets: [{ assetId: usdcAssetId!, amount: BigInt(microDollars) }] })
  }
  const response = await fetch(`${devnet.url}/v2/accounts/${address}/assets/${usdcAssetId}`)
  const { 'asset-holding': holding } = (await response.json()) as { 'asset-holding'?: { amount: number } }
  console.log(JSON.stringify({ microDollars: holding?.amount ?? 0 }))
}
await devnet.stop()
