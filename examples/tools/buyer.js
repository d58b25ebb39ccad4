/** Starts the seller and buys a forecast from it: `AVM_MNEMONIC="25 words" node examples/tools/buyer.js Lisbon` */
import { fileURLToPath } from 'node:url'
import { payingCallTool, paymentOf } from '@latchkey/mcp/client'
import { Buyer, Chain, Signer } from '@latchkey/x402/client'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const { AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, USDC_ASSET_ID: dollar, AVM_MNEMONIC: words } = process.env
const [city = 'Lisbon'] = process.argv.slice(2)

/** The environment of the seller, without the mnemonic of the buyer. */
const names = ['AVM_ADDRESS', 'FACILITATOR_URL', 'AVM_NETWORK', 'ALGOD_URL', 'USDC_ASSET_ID']
const env = Object.fromEntries(names.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])))
const args = [fileURLToPath(new URL('seller.js', import.meta.url))]

const client = new Client({ name: 'example-buyer', version: '1.0.0' })
try {
  const chain = await Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) })
  const buyer = new Buyer({ signer: Signer.fromMnemonic(words ?? ''), chains: chain, maxPerPayment: '$0.05' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'inherit' }))
  const callTool = payingCallTool(client, buyer, { server: 'weather' })
  const result = await callTool({ name: 'forecast', arguments: { city } })
  // A seller's text must not control the terminal.
  const texts = result.content.flatMap((one) => (one.type === 'text' ? [one.text.replace(/(?!\n)\p{C}/gu, '?')] : []))
  console.log(texts.join('\n'))
  const { payment, state } = paymentOf(result) ?? {}
  console.log(payment === undefined ? 'Nothing was paid.' : `Payment ${payment.transactionId}: ${state}`)
  process.exitCode = result.isError === true ? 1 : 0
} catch (error) {
  console.error(`❌ ${error.message}`)
  process.exitCode = 1
} finally {
  await client.close()
}
