/** Pays for a request with an agent's token: `node examples/agent/buyer.js TOKEN_FILE URL` */
import { readFile } from 'node:fs/promises'
import { Kmd } from '@latchkey/kmd-client'
import { Buyer, Chain, fromAgent, payingFetch, paymentOf } from '@latchkey/x402/client'

const { AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, USDC_ASSET_ID: dollar } = process.env
const { KMD_DATA_DIR: dataDir } = process.env
const [tokenFile, url] = process.argv.slice(2)

/** A seller's text must not control the terminal. */
const printable = (text) => text.replace(/(?!\n)\p{C}/gu, '?')

async function buy() {
  if (tokenFile === undefined || url === undefined) throw new Error('usage: buyer.js TOKEN_FILE URL')
  const token = (await readFile(tokenFile, 'utf8')).trim()
  const agent = await Kmd.asAgent({ dataDir, token })
  try {
    const chain = await Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) })
    // The daemon enforces the owner's limits; these are the program's own.
    const signer = await fromAgent({ agent, approvalWaitMs: 60_000 })
    const buyer = new Buyer({ signer, chains: chain, maxPerPayment: '$0.10' })
    const response = await payingFetch(buyer)(url)
    console.log(printable(await response.text()))
    const paid = paymentOf(response)
    console.log(paid === undefined ? 'Nothing was paid.' : `Payment ${paid.payment.transactionId}: ${paid.state}`)
    return response.ok ? 0 : 1
  } finally {
    agent.close()
  }
}

try {
  process.exitCode = await buy()
} catch (error) {
  // A refusal says which of the owner's rules does not allow the payment.
  console.error(printable(error.message), error.refusal ?? '')
  process.exitCode = 1
}
