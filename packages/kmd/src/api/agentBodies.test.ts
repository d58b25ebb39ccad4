import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wires } from '@latchkey/kmd-api'
import { makeAgent, payment } from '../testing/agents.test.helper.js'
import { createApp, quietNode } from '../testing/TestApp.test.helper.js'

const kib = 1024

for (const wire of wires) {
  test(`an agent's bodies have the size of its transactions, on the ${wire} wire`, async (t) => {
    const app = createApp(t, { wire, node: quietNode })
    const agent = await makeAgent(app)
    const transaction = payment(agent.address, { note: Buffer.alloc(1024, 1) })
    // The longest form of the largest payment.
    const integers = [...Buffer.from(transaction, 'base64')]
    const signed = await agent.post('/latchkey/v1/agent/sign', { transaction: integers })
    assert.equal(signed.status, 200, signed.text)
    for (const [path, most] of [
      ['/latchkey/v1/agent/sign', 32 * kib],
      ['/v1/transaction/sign', 32 * kib],
      ['/v1/wallet/init', 32 * kib],
      ['/latchkey/v1/transaction/submit', 128 * kib],
    ] as const) {
      const blank = (length: number): string => `{}${' '.repeat(length - 2)}`
      const whole = await agent.request('POST', path, blank(most))
      assert.notEqual(whole.status, 413, `${path}: ${whole.text}`)
      const { status, json } = await agent.request('POST', path, blank(most + 1))
      assert.deepEqual([path, status, json.message], [path, 413, `request body too large, must be <= ${most} bytes`])
    }
    const owners = await app.request('POST', '/v1/wallet/init', { body: `{}${' '.repeat(500 * kib)}` })
    assert.notEqual(owners.status, 413, owners.text)
  })
}
