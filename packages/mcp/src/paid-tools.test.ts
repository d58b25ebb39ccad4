/** Tests a buyer and a seller of tools with the official client and server on a devnet ledger. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { payingCallTool, paymentOf } from './client/index.js'
import { buyerOf, cent, connect, earned, openGate, openMarket, text } from './market.test.helper.js'
import { paymentResponseKey, paymentOf as soldFor } from './server/index.js'

test('a call is paid once, and its result has the receipt', async (t) => {
  const market = await openMarket(t)
  const gate = await openGate(t, market)
  const payers: (string | undefined)[] = []
  const client = await connect(t, (server) =>
    gate.registerTool(server, 'forecast', {}, (context) => {
      payers.push(soldFor(context)?.payer)
      return text('sunny')
    }),
  )
  const sent: string[] = []
  const callTool = payingCallTool(client, buyerOf(market), {
    server: 'shop',
    onPayment: (paid, receipt, state) => sent.push(`${receipt?.success} ${state} ${paid.payment.url}`),
  })
  const result = await callTool({ name: 'forecast' })
  assert.deepEqual(result.content, text('sunny').content)
  const { payment, state, receipt } = paymentOf(result)!
  assert.deepEqual([state, receipt?.success, receipt?.transaction], ['settled', true, payment.transactionId])
  assert.equal(receipt?.payer, market.signer.address)
  assert.ok(result._meta?.[paymentResponseKey] !== undefined)
  assert.equal(await earned(market), cent)
  assert.deepEqual(payers, [market.signer.address])
  assert.match(sent.join(), /^true settled mcp:\/\/shop\/tools\/forecast\?arguments=[\w-]{43}$/)
})
