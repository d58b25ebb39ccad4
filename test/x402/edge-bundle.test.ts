/** The seller's entries for edge runtimes bundle without modules and globals of Node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bundle } from '../browser/bundle.test.helper.js'

const source = (entry: string): string => `
import { Chain, Gate } from '@latchkey/x402/server'
import { paymentGate } from '${entry}'
export { Chain, Gate, paymentGate }
`

for (const entry of ['@latchkey/x402/web', '@latchkey/x402/hono']) {
  test(`${entry} imports no module of Node`, async (t) => {
    const conditions = ['workerd', 'worker', 'edge-light', 'browser']
    const { nodeImports, code } = await bundle(t, { source: source(entry), conditions })
    assert.deepEqual(nodeImports, [])
    assert.doesNotMatch(code, /\bBuffer\.|\brequire\(|\bfrom\s*["']node:|\bimport\(["']node:/)
    assert.match(code, /PAYMENT-REQUIRED/)
  })
}
