/** Makes one paid request and prints each step of it. */
import { Amount } from '@latchkey/algorand'
import { Buyer, fromKmd, payingFetch, receiptOf } from '@latchkey/x402/client'
import { shortened } from '../format.js'
import { buyerWallet, dollarAssetId, dollarDecimals, type Stack } from './Stack.js'
import { price } from './seller.js'

export async function printDemo(stack: Stack, line: (text: string) => void): Promise<void> {
  const { chain, sellerUrl, buyer, seller } = stack
  const url = `${sellerUrl}/weather`
  const before = await balances(stack)
  const signer = fromKmd({ kmd: { dataDir: stack.kmdDataDir }, wallet: buyerWallet, password: '', address: buyer })
  const pay = payingFetch(new Buyer({ signer, chains: chain }), {
    onPaymentRequired: (_required, _url, [offer]) => {
      line(`the seller responds with 402 Payment Required: ${price}, ${offer.amount} of asset ${dollarAssetId}`)
      return offer
    },
    onPayment: ({ payment }) =>
      line(
        `the buyer's payment ${shortened(payment.transactionId)} is signed by the key daemon; the key never leaves it`,
      ),
  })
  line(`the buyer requests ${url}`)
  const response = await pay(url)
  const receipt = receiptOf(response)
  if (!response.ok || receipt?.success !== true)
    throw new Error(`the paid request ended with status ${response.status}`)
  const found = await chain.algod.transaction(receipt.transaction)
  const round = found.type === 'confirmed' ? found.round : '?'
  line(`the facilitator settles it in round ${round} and pays the fee: ${receipt.transaction}`)
  line(`the seller responds with ${response.status}: ${await response.text()}`)
  const after = await balances(stack)
  line(`the buyer  ${shortened(buyer)} had ${before.buyer}, has ${after.buyer}`)
  line(`the seller ${shortened(seller)} had ${before.seller}, has ${after.seller}`)
}

async function balances({ chain, buyer, seller }: Stack): Promise<{ buyer: string; seller: string }> {
  const dollars = async (address: string): Promise<string> => {
    const holding = await chain.algod.holding(address, dollarAssetId)
    return `$${Amount.format(holding?.amount ?? 0n, dollarDecimals)}`
  }
  return { buyer: await dollars(buyer), seller: await dollars(seller) }
}
