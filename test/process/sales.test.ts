/** Tests `latchkey sales`: the revenue of a shop, from its file, while it runs. */
import assert from 'node:assert/strict'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Network } from '@latchkey/algorand'
import type { Sale } from '@latchkey/x402/server'
import { openSales, SqliteClaims } from '@latchkey/x402/sqlite'
import { hostedLatchkey, type Outcome } from '../support/latchkey.test.helper.js'
import { temporaryDirectory } from './commands.test.helper.js'

const payer = 'RKEOHXLUBHYZL7KS3MWTZOS5OLFGOCN7DWKBEG7TOSEADNAPN5OOTUNSLE'

function sale(letter: string, change: Partial<Sale> = {}): Sale {
  const what = { payer, payTo: payer, amount: '10000', asset: '10458941', assetName: 'USDC', decimals: 6 }
  const where = { route: 'GET /weather', method: 'GET', path: '/weather', network: Network.testnet.caip2 }
  const when = { timeMs: Date.now(), round: 7, firstValid: 1, lastValid: 2 }
  return {
    transactionId: letter.repeat(52),
    outcome: 'settled',
    code: '',
    isDue: false,
    ...what,
    ...where,
    ...when,
    ...change,
  }
}

const run = (args: readonly string[]): Promise<Outcome> => hostedLatchkey(args)

test('shows revenue by route and the latest payments, as text, JSON and CSV', async (t) => {
  const file = join(temporaryDirectory(t), 'claims.db')
  const claims = new SqliteClaims(file)
  t.after(() => claims.close())
  claims.sales.record([
    sale('A'),
    sale('B', { amount: '18446744073709551615' }),
    sale('C', { outcome: 'refused', code: '=evil\u001b[31m', route: 'GET /other' }),
    sale('D', { timeMs: Date.now() - 40 * 86_400_000 }),
  ])
  const shown = await run(['sales', file])
  assert.equal(shown.code, 0, shown.stderr)
  assert.match(shown.stdout, /^ROUTE +REVENUE +PAYMENTS +FAILURES +NETWORK\n/)
  assert.match(shown.stdout, /GET \/weather +18,446,744,073,709\.561615 USDC +2 +0 +TestNet\n/)
  assert.match(shown.stdout, /refused: =evil\?\[31m/)
  assert.ok(!shown.stdout.includes('\u001b'))
  const json = JSON.parse((await run(['sales', file, '--days', '60', '--json'])).stdout)
  assert.deepEqual(
    json.routes.find((one: { route: string }) => one.route === 'GET /weather'),
    {
      ...{ route: 'GET /weather', payments: 3, failures: 0, amount: '18446744073709.571615', unit: 'USDC' },
      ...{ baseUnits: '18446744073709571615', asset: '10458941', network: Network.testnet.caip2 },
    },
  )
  const csv = await run(['sales', file, '--csv', 'payments'])
  assert.equal(csv.stdout.split('\r\n').length, 1 + 3 + 1)
  assert.match(csv.stdout, /,'=evil/)
  assert.match(
    (await run(['sales', file, '--csv', 'revenue'])).stdout,
    /,GET \/weather,2,0,18446744073709\.561615,USDC,/,
  )
})

test('prints every payment as CSV once, also authorizations for prices by usage', async (t) => {
  const file = join(temporaryDirectory(t), 'claims.db')
  const claims = new SqliteClaims(file)
  t.after(() => claims.close())
  const ids = Array.from({ length: 1_252 }, (_, index) => `upto-${String(index).padStart(52, 'A')}`)
  claims.sales.record(ids.map((transactionId, index) => sale('A', { transactionId, timeMs: Date.now() - index })))
  const { stdout } = await run(['sales', file, '--csv', 'payments'])
  const printed = stdout.match(/upto-[A-Z0-9]{52}/g) ?? []
  assert.equal(printed.length, ids.length)
  assert.equal(new Set(printed).size, ids.length)
})

test('a missing, empty or invalid file is an error that names it, and nothing is created', async (t) => {
  const directory = temporaryDirectory(t)
  const missing = join(directory, 'missing.db')
  const absent = await run(['sales', missing])
  assert.deepEqual([absent.code, existsSync(missing)], [3, false])
  assert.match(
    absent.stderr,
    /missing\.db: there is no such file; pass the file that the seller passes to SqliteClaims$/m,
  )
  const other = join(directory, 'other.db')
  writeFileSync(other, 'something else '.repeat(100))
  assert.match((await run(['sales', other])).stderr, /other\.db: it is not a database/)
  const blank = join(directory, 'blank.db')
  writeFileSync(blank, '')
  assert.match((await run(['sales', blank])).stderr, /blank\.db: it is empty/)
  assert.throws(() => openSales(blank), { code: 'store_failed' })
  assert.equal(statSync(blank).size, 0)
  for (const flags of [
    ['--days', '0'],
    ['--csv', 'all'],
    ['--csv', 'revenue', '--json'],
  ]) {
    assert.equal((await run(['sales', blank, ...flags])).code, 2, flags.join(' '))
  }
})

test('reports a shop without sales', async (t) => {
  const file = join(temporaryDirectory(t), 'claims.db')
  new SqliteClaims(file).close()
  const { code, stdout, stderr } = await run(['sales', file])
  assert.deepEqual([code, stdout, stderr], [0, '', 'No sales in the last 30 days.\n'])
})
