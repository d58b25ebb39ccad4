/** Makes one paid request and reports each step. */
import { Readable } from '@latchkey/algorand'
import { Buyer, fromKmd, payingFetch, receiptOf } from '@latchkey/x402/client'
import { shortened } from '../format.js'
import { buyerWallet, dollarAssetId } from '../stack/stackValues.js'
import type { Style } from '../style.js'
import type { StackParts } from './StackParts.js'
import { price } from './seller.js'

/** Called with a step, and the part of it to emphasize. */
export type OnStep = (text: string, emphasis?: readonly [Style, string]) => void

export async function runDemo(parts: StackParts, onStep: OnStep): Promise<void> {
  const { chain, sellerUrl, buyer } = parts
  const url = `${sellerUrl}/weather`
  if (parts.isBuyerFunded) onStep('the buyer had too few dollars and was funded')
  const before = await balances(parts)
  const signer = fromKmd({ kmd: { dataDir: parts.kmdDataDir }, wallet: buyerWallet, password: '', address: buyer })
  const pay = payingFetch(new Buyer({ signer, chains: chain }), {
    onPaymentRequired: (_required, _url, [offer]) => {
      const asked = '402 Payment Required'
      onStep(`the seller responds with ${asked}: ${price} in USDC (asset ${dollarAssetId})`, ['yellow', asked])
      return offer
    },
    onPayment: ({ payment }) =>
      onStep(`the key daemon signs payment ${shortened(payment.transactionId)}; the buyer's key never leaves it`),
  })
  onStep(`the buyer requests ${url}`)
  const response = await pay(url)
  const receipt = receiptOf(response)
  if (!response.ok || receipt?.success !== true)
    throw new Error(`the paid request ended with status ${response.status}`)
  const found = await chain.algod.transaction(receipt.transaction)
  const round = found.type === 'confirmed' ? found.round : '?'
  onStep(`the facilitator settles the payment in round ${round} and pays the fee`, ['green', `round ${round}`])
  onStep(`the seller responds with ${response.status}: ${await response.text()}`, ['green', `${response.status}`])
  const after = await balances(parts)
  onStep(`the buyer had ${before.buyer}, now ${after.buyer}; the seller ${before.seller}, now ${after.seller}`)
}

async function balances({ chain, buyer, seller }: StackParts): Promise<{ buyer: string; seller: string }> {
  const dollars = async (address: string): Promise<string> => {
    const holding = await chain.algod.holding(address, dollarAssetId)
    return Readable.dollars(holding?.amount ?? 0n)
  }
  return { buyer: await dollars(buyer), seller: await dollars(seller) }
}
