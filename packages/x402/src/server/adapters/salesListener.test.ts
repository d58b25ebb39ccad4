import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type TestContext } from 'node:test'
import { MemoryClaims } from '../store/Claims.js'
import type { Sale, SaleStore } from '../store/Sales.js'
import { salesListener } from './salesListener.js'

const token = 'a-token-of-the-seller'
const headers = { Authorization: `Bearer ${token}` }

function sale(transactionId: string): Sale {
  const what = {
    payer: 'P',
    payTo: 'S',
    amount: '10000',
    asset: '1',
    assetName: 'X',
    decimals: 2,
    network: 'algorand:x',
  }
  const where = { route: 'GET /a', method: 'GET', path: `/${'a'.repeat(400)}`, round: 7, firstValid: 1, lastValid: 2 }
  return { transactionId, timeMs: Date.now(), outcome: 'settled', code: '', isDue: false, ...what, ...where }
}

/** A store with endless pages. */
function endless(onPage: () => void): SaleStore {
  const { sales } = new MemoryClaims()
  const page = Array.from({ length: 1_000 }, () => sale('A'))
  let count = 0
  const list = (): { sales: Sale[]; next: string } => {
    onPage()
    count++
    return { sales: page, next: `after page ${count}` }
  }
  return Object.assign(Object.create(sales) as SaleStore, { list })
}

async function serve(t: TestContext, store: SaleStore, errors: unknown[] = []): Promise<string> {
  const claims = Object.assign(new MemoryClaims(), { sales: store })
  const server = createServer(salesListener({ claims, token, onError: (error) => errors.push(error) }))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/sales`
}

test('serves the page, and nothing without the token', async (t) => {
  const { sales } = new MemoryClaims()
  sales.record([sale('A')])
  const url = await serve(t, sales)
  const page = await fetch(url, { headers })
  assert.deepEqual([page.status, page.headers.get('Cache-Control')], [200, 'no-store'])
  assert.match(await page.text(), /100 X/)
  for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
    const refused = await fetch(`${url}?csv=payments`, { method })
    assert.equal(refused.status, 401)
    assert.doesNotMatch(await refused.text(), /GET \/a/)
  }
  assert.equal(await (await fetch(`${url}?csv=payments`, { method: 'HEAD', headers })).text(), '')
  assert.match(await (await fetch(`${url}?csv=payments`, { headers })).text(), /,GET \/a,/)
})

test('streams a file of payments in parallel with other requests, and stops when its reader leaves', async (t) => {
  let pages = 0
  const errors: unknown[] = []
  const url = await serve(
    t,
    endless(() => pages++),
    errors,
  )
  const request = get(`${url}?csv=payments`, { headers })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  await once(response, 'data')
  // Another request is answered meanwhile.
  assert.equal((await fetch(url)).status, 401)
  response.destroy()
  // One page may be in transit.
  let before: number
  do {
    before = pages
    await new Promise((resolve) => setTimeout(resolve, 50))
  } while (pages > before)
  assert.deepEqual(errors, [])
})
