import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics } from './Metrics.js'
import { createApp } from './testing/TestApp.test.helper.js'

test('requests are counted by operation and status, and their time is summed', () => {
  const metrics = new Metrics()
  metrics.observe('SignTransaction', 200, 0.25)
  metrics.observe('SignTransaction', 200, 0.5)
  metrics.observe('SignTransaction', 400, 0.25)
  metrics.observe('ListWallets', 200, 2)
  assert.equal(
    metrics.text(),
    `# HELP latchkey_requests_total Requests, by operation and status.
# TYPE latchkey_requests_total counter
latchkey_requests_total{operation="SignTransaction",status="200"} 2
latchkey_requests_total{operation="SignTransaction",status="400"} 1
latchkey_requests_total{operation="ListWallets",status="200"} 1
# HELP latchkey_request_seconds Time from a request to its response, by operation.
# TYPE latchkey_request_seconds summary
latchkey_request_seconds_sum{operation="SignTransaction"} 1
latchkey_request_seconds_count{operation="SignTransaction"} 3
latchkey_request_seconds_sum{operation="ListWallets"} 2
latchkey_request_seconds_count{operation="ListWallets"} 1
`,
  )
})

test('a gauge is read when the text is written', () => {
  const metrics = new Metrics()
  let open = 1
  metrics.gauge({ name: 'open', help: 'Open now.', read: () => open })
  assert.match(metrics.text(), /\n# HELP open Open now\.\n# TYPE open gauge\nopen 1\n$/)
  open = 7
  assert.match(metrics.text(), /\nopen 7\n$/)
})

test('requests are counted by operation, never by text of the caller', async (t) => {
  const app = createApp(t)
  await app.request('GET', '/v1/wallets')
  await app.post('/v1/wallet/info', { wallet_handle_token: 'nonsense' })
  await app.request('GET', '/v1/nonsense')
  await app.request('GET', '/v1/wallets', { headers: { 'x-kmd-api-token': 'wrong' } })
  const response = await app.request('GET', '/latchkey/v1/metrics')
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  assert.match(response.text, /\{operation="ListWallets",status="200"\} 1\n/)
  assert.match(response.text, /\{operation="GetWalletInfo",status="401"\} 1\n/)
  assert.doesNotMatch(response.text, /nonsense/)
})
