/** The checker finds each fault planted in a store from logs and ledger alone, and none if none is planted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Rule } from './checkHistory.test.helper.js'
import { runInNamespaces } from './namespaces.test.helper.js'
import { scenarios } from './scenarios.test.helper.js'

type Found = { name: string; found: Rule[]; payments: number; ms: number; example?: string }

test('planted faults', { timeout: 900_000 }, async (t) => {
  const { lines } = await runInNamespaces(t, 'plants', {})
  for (const { name, finds } of scenarios) {
    await t.test(name, () => {
      const result = (lines as Found[]).find((line) => line.name === name)
      process.stdout.write(`${JSON.stringify(result)}\n`)
      const found = result?.found ?? []
      if (finds.length === 0) assert.deepEqual(found, [])
      else
        assert.ok(
          finds.some((rule) => found.includes(rule)),
          `found ${found.join(', ') || 'nothing'}`,
        )
    })
  }
})
