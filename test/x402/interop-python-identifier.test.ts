/** Names of purchases that the published Python extension makes. Skipped with the reason if there is no Python. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import test from 'node:test'
import { decodeRequired } from '@latchkey/x402/client'
import { openMarket } from './support/market.test.helper.js'

type Obtained = { readonly python?: string; readonly problem?: string }
const obtain = new URL('../../../scripts/obtain/python.mjs', import.meta.url)

const program = [
  'import json, sys',
  'from x402.extensions.payment_identifier import append_payment_identifier_to_extensions as append',
  'extensions = json.load(sys.stdin)',
  'print(json.dumps(append(extensions)))',
].join('\n')

test('two payments under a name of the published Python extension are charged once', {
  timeout: 300_000,
}, async (t) => {
  const { obtainPython } = (await import(obtain.href)) as { obtainPython: (requirements: string) => Obtained }
  const { python, problem } = obtainPython('requirements-official.txt')
  if (python === undefined) {
    t.skip(problem)
    return
  }
  const market = await openMarket(t)
  const accepts = { network: market.chain.caip2, payTo: market.seller, price: '$0.01' }
  const gate = await market.gate({ routes: { 'GET /a': { accepts, paymentIdentifier: 'required' } } })
  t.after(() => gate.close())
  const unpaid = await gate.decide(new Request('http://shop.test/a'))
  assert.equal(unpaid.type, 'response')
  const required = decodeRequired((unpaid as { response: Response }).response.headers.get('PAYMENT-REQUIRED')!)
  const env = { PATH: process.env['PATH'] ?? '', PYTHONDONTWRITEBYTECODE: '1' }
  const input = JSON.stringify(required.extensions)
  const extensions = JSON.parse(execFileSync(python, ['-c', program], { input, env }).toString()) as object
  const { info } = (extensions as { 'payment-identifier': { info: { id: string } } })['payment-identifier']
  assert.match(info.id, /^[A-Za-z0-9_-]{16,128}$/)
  let runs = 0
  for (let call = 0; call < 2; call++) {
    const { payload } = await market.buyer.pay(required)
    const header = Buffer.from(JSON.stringify({ ...payload, extensions })).toString('base64')
    const request = new Request('http://shop.test/a', { headers: { 'PAYMENT-SIGNATURE': header } })
    const decision = await gate.decide(request)
    if (decision.type === 'paid') {
      runs++
      await decision.admission.settle({ status: 200, headers: [], body: new TextEncoder().encode('goods') })
    } else {
      assert.ok(decision.type === 'response')
      assert.equal(await decision.response.text(), 'goods')
    }
  }
  assert.equal(runs, 1)
  assert.equal(await market.dollars(), 10_000n)
})
