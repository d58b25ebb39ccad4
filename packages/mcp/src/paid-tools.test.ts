/** Tests a buyer and a seller of tools with the official client and server on a devnet ledger. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromJsonSchema } from '@modelcontextprotocol/server'
import { payingCallTool, paymentOf } from './client/index.js'
import { buyerOf, cent, connect, earned, openGate, openMarket, text } from './market.test.helper.js'
import { paymentResponseKey, paymentOf as soldFor, type ToolCall } from './server/index.js'

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

test('a tool is charged by usage, up to the maximum that the buyer authorized', async (t) => {
  const market = await openMarket(t)
  const { payTo } = market
  const tools = {
    ask: { accepts: { price: { upTo: ({ arguments: given }: ToolCall) => (given as { most: string }).most }, payTo } },
    all: { accepts: { price: { upTo: '$0.05', whenUnset: 'maximum' as const }, payTo } },
  }
  const gate = await openGate(t, market, { tools })
  const inputSchema = fromJsonSchema<{ most: string; charge?: string }>({
    type: 'object',
    properties: { most: { type: 'string' }, charge: { type: 'string' } },
  })
  const client = await connect(t, (server) => {
    gate.registerTool(server, 'ask', { inputSchema }, ({ charge }, context) => {
      if (charge !== undefined) soldFor(context)!.charge!(charge)
      return text('42')
    })
    gate.registerTool(server, 'all', {}, () => text('everything'))
  })
  const buyer = buyerOf(market)
  const callTool = payingCallTool(client, buyer, { server: 'shop' })
  const result = await callTool({ name: 'ask', arguments: { most: '$0.50', charge: '$0.0132' } })
  assert.deepEqual(result.content, text('42').content)
  const { payment, state, receipt } = paymentOf(result)!
  assert.deepEqual([state, receipt?.amount, payment.amount], ['settled', '13200', '500000'])
  assert.deepEqual([payment.charge?.amount, payment.charge?.transactionId], ['13200', receipt?.transaction])
  assert.equal(await earned(market), 13_200n)
  const above = await callTool({ name: 'ask', arguments: { most: '$0.01', charge: '$0.02' } })
  assert.equal(above.isError, true)
  assert.equal(await earned(market), 13_200n, 'a call that fails charges nothing')
  await callTool({ name: 'ask', arguments: { most: '$0.02' } })
  assert.equal(await earned(market), 13_200n, 'a tool that sets no charge charges nothing')
  await callTool({ name: 'all' })
  assert.equal(await earned(market), 63_200n)
})
