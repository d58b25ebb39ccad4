/** A dev stack's accounts: listed by `latchkey devnet accounts`, and in the address book by the same names. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { latchkeyCommand } from '../support/devnet.test.helper.js'

test('a name of the devnet can be listed, paid and funded in a fresh stack', { timeout: 300_000 }, async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'latchkey-accounts-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const latchkey = `"${process.execPath}" "${latchkeyCommand}"`
  const lines = [
    `${latchkey} devnet accounts --json`,
    `${latchkey} devnet accounts account-3`,
    `${latchkey} contact list --json`,
    `${latchkey} send '1 ALGO' account-3 --yes --json`,
    `${latchkey} balance account-3 --json`,
  ]
  const env = { ...process.env, HOME: home, XDG_STATE_HOME: join(home, 'state') }
  const args = [latchkeyCommand, 'dev', '--any-port', '--', 'sh', '-c', lines.join(' && ')]
  const stdout = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, args, { env }, (error, out) => (error ? reject(error) : resolve(out)))
  })
  const [listed, address, book, , balance] = stdout.trim().split('\n')
  const { accounts } = JSON.parse(listed!) as { accounts: { name: string; address: string; algos: string }[] }
  const third = accounts.find(({ name }) => name === 'account-3')!
  assert.equal(third.address, address)
  assert.equal(third.algos, '1000000')
  const { contacts } = JSON.parse(book!) as { contacts: { label: string; address: string }[] }
  for (const { name, address: listedAddress } of accounts) {
    assert.equal(contacts.find(({ label }) => label === name)?.address, listedAddress, name)
  }
  assert.equal(JSON.parse(balance!).accounts[0].algos, '1000001')
})
