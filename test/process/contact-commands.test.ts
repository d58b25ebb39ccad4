/** Tests `latchkey contact ...`: the daemon's address book. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import * as algosdk from 'algosdk'
import { hostedLatchkey, type Outcome } from '../support/latchkey.test.helper.js'
import { type Kmd, startHosted, suiteScope } from './commands.test.helper.js'

suite('latchkey contact', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  const [shop, exchange] = [algosdk.generateAccount(), algosdk.generateAccount()].map(({ addr }) => addr.toString())
  let kmd: Kmd

  before(async () => {
    kmd = await startHosted(scope)
  })

  const run = (...args: string[]): Promise<Outcome> => hostedLatchkey(['contact', ...args], { dataDir: kmd.dataDir })

  function failed({ code, stdout, stderr }: Outcome, expected: number, message: RegExp): void {
    assert.deepEqual([code, stdout], [expected, ''], stderr)
    assert.match(stderr, message)
  }

  test('adds, lists, renames and deletes', async () => {
    failed(await run('list'), 0, /The address book is empty. To add a contact: latchkey contact add LABEL ADDRESS/)
    failed(await run('add', ' Corner  shop ', shop!), 0, new RegExp(`Labelled ${shop} as "Corner shop"\\.`))
    const added = await run('add', 'Exchange', exchange!, '--json')
    assert.deepEqual(JSON.parse(added.stdout), { contact: { address: exchange, label: 'Exchange' } })
    const listed = await run('list')
    assert.deepEqual([listed.code, listed.stderr], [0, ''])
    assert.match(listed.stdout, new RegExp(`^Corner shop +${shop}\nExchange +${exchange}\n$`))
    await run('add', 'Bank', exchange!)
    assert.deepEqual(JSON.parse((await run('list', '--json')).stdout).contacts, [
      { address: exchange, label: 'Bank' },
      { address: shop, label: 'Corner shop' },
    ])
    failed(await run('delete', 'corner SHOP'), 0, new RegExp(`Removed the contact .* \\(${shop}\\)`))
    failed(await run('delete', exchange!), 0, new RegExp(`Removed the contact Bank \\(${exchange}\\)`))
    failed(await run('delete', exchange!), 3, /contact .+ not found/)
  })

  test('reports an invalid label or address, and prints neither raw', async () => {
    failed(await run('add', 'shop', 'NOT-AN-ADDRESS'), 2, /is not an address/)
    failed(await run('add', 'shop'), 2, /ADDRESS is missing/)
    const control = await run('add', '\u001b[2Jshop', shop!)
    failed(control, 3, /a label must have 1 to 64 visible characters/)
    assert.equal(control.stderr.includes('\u001b'), false)
    const missing = await run('delete', '\u001b[2J')
    failed(missing, 3, /contact .+ not found/)
    assert.equal(missing.stderr.includes('\u001b'), false)
    await run('add', 'shop', shop!)
    failed(await run('add', 'SHOP', exchange!), 3, /another address has this label/)
  })

  test('a damaged file is an error that names it, and stays unchanged', async () => {
    const file = join(kmd.dataDir, 'latchkey_contacts.json')
    writeFileSync(file, '{')
    for (const args of [['list'], ['add', 'new', shop!], ['delete', 'shop']]) {
      failed(await run(...args), 3, /latchkey_contacts\.json in the data directory cannot be used: it is not JSON/)
    }
    assert.equal(readFileSync(file, 'utf8'), '{')
  })
})
