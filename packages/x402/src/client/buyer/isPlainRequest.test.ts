import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPlainRequest } from './payingFetch.js'

const url = 'https://shop.example/weather'

test('a request that uses further features of fetch is not plain', () => {
  const dispatcher = { dispatch: () => true }
  const plain: RequestInit[] = [{}, { method: 'POST', body: 'x', redirect: 'manual', headers: { Cookie: 'a=1' } }]
  for (const init of plain) assert.ok(isPlainRequest(new Request(url, init), init))
  const others: object[] = [
    { dispatcher },
    { integrity: 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' },
    { referrer: 'https://shop.example/' },
    { cache: 'no-store' },
  ]
  for (const init of others) assert.ok(!isPlainRequest(new Request(url, init), init), JSON.stringify(init))
  assert.ok(!isPlainRequest(new Request(url), { dispatcher } as unknown as RequestInit))
})
