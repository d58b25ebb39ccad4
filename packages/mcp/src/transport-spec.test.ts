/** Tests the messages of the public x402 transport for MCP, in the shape of its specification, with our own values. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeReceipt, PaymentRefusedError } from '@latchkey/x402/client'
import type { CallToolRequestParams, CallToolResult } from '@modelcontextprotocol/client'
import { payingCallTool } from './client/index.js'
import { responseOf } from './client/payingCallTool.js'
import { buyerOf, openMarket } from './market.test.helper.js'

/** "Payment Required Signaling", on a network that this buyer does not pay on. */
const required = {
  x402Version: 2,
  error: 'Payment required to access this resource',
  resource: { url: 'mcp://tool/stock_report', description: 'A report on a stock', mimeType: 'application/json' },
  accepts: [
    {
      scheme: 'exact',
      network: 'eip155:84532',
      amount: '25000',
      asset: `0x${'1'.repeat(40)}`,
      payTo: `0x${'2'.repeat(40)}`,
      maxTimeoutSeconds: 60,
      extra: { name: 'USDC', version: '2' },
    },
  ],
}
const asText = { type: 'text' as const, text: JSON.stringify(required) }
const unpaid: CallToolResult = { isError: true, structuredContent: required, content: [asText] }

/** "Settlement Response Delivery". */
const served: CallToolResult = {
  content: [{ type: 'text', text: 'the report' }],
  _meta: {
    'x402/payment-response': {
      success: true,
      transaction: `0x${'3'.repeat(64)}`,
      network: 'eip155:84532',
      payer: `0x${'4'.repeat(40)}`,
    },
  },
}

test('a payment requirement is read from the structured content or the text', () => {
  for (const result of [unpaid, { isError: true, content: [asText] }]) {
    const header = responseOf(result).headers.get('PAYMENT-REQUIRED')!
    assert.deepEqual(JSON.parse(Buffer.from(header, 'base64').toString()), required)
    assert.equal(responseOf(result).status, 402)
  }
  // Without `isError` the value is an ordinary result of the tool.
  assert.equal(responseOf({ structuredContent: required, content: [asText] }).status, 200)
})

test('a receipt is read from _meta', () => {
  const response = responseOf(served)
  assert.equal(response.status, 200)
  const { success, transaction, payer } = decodeReceipt(response.headers.get('PAYMENT-RESPONSE')!)
  assert.deepEqual([success, transaction, payer], [true, `0x${'3'.repeat(64)}`, `0x${'4'.repeat(40)}`])
})

test('a requirement on another network is parsed and refused', async (t) => {
  const calls: CallToolRequestParams[] = []
  const client = {
    callTool: async (params: CallToolRequestParams) => {
      calls.push(params)
      return unpaid
    },
  }
  const callTool = payingCallTool(client, buyerOf(await openMarket(t)), { server: 'shop' })
  const refused = await callTool({ name: 'stock_report' }).catch((error: unknown) => error)
  assert.ok(refused instanceof PaymentRefusedError)
  assert.equal(refused.reasons[0]?.code, 'unsupported_network')
  assert.deepEqual(calls, [{ name: 'stock_report' }])
})
