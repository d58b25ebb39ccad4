import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Address, Ed25519 } from '@latchkey/algorand'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { Contacts, maxContacts } from './Contacts.js'

const addressOf = (number: number): string => {
  const seed = new Uint8Array(32)
  new DataView(seed.buffer).setUint32(0, number)
  return Address.encode(Ed25519.publicKey(seed))
}
const [alice, bob] = [addressOf(1), addressOf(2)]

function open(t: TestContext): { directory: string; file: string; contacts: Contacts } {
  const directory = temporaryDirectory(t)
  const file = join(directory, 'latchkey_contacts.json')
  return { directory, file, contacts: new Contacts({ file }) }
}

test('labels survive a restart, sorted, in a file that only the owner can read', (t) => {
  const { file, contacts, directory } = open(t)
  assert.deepEqual(contacts.list(), [])
  assert.equal(existsSync(file), false, 'asking writes nothing')
  assert.equal(contacts.set(bob, '  shop   on the  corner '), 'shop on the corner')
  contacts.set(alice, 'Exchange')
  contacts.set(bob, 'shop')
  const expected = [
    { address: alice, label: 'Exchange' },
    { address: bob, label: 'shop' },
  ]
  assert.deepEqual(new Contacts({ file }).list(), expected)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(directory), ['latchkey_contacts.json'])
  contacts.delete(alice)
  contacts.delete(alice)
  assert.deepEqual(contacts.list(), expected.slice(1))
})

const refused: { [why: string]: string } = {
  blank: '',
  'spaces only': '  \t ',
  'a control character': 'a\u0007b',
  'an escape sequence': '\u001b[31mred',
  'a line break': 'a\nb',
  'a text direction': 'a\u202eb',
  'an invisible letter': '\u3164',
  'a Braille pattern without dots': '\u2800',
  'Braille patterns without dots between spaces': '\u2800 \u2800',
  'a blank symbol': '\u{1d159}',
  'a blank hieroglyph': '\u{13441}',
  'a blank symbol in a word': 'pay\u2800pal',
  'the selector of an emoji after a letter': 'pay\ufe0fpal',
  'a zero-width space': 'pay\u200bpal',
  'a lone surrogate': 'a\ud800',
  'an address': alice,
  'an address in lower case': alice.toLowerCase(),
  'too long': 'x'.repeat(65),
}
for (const [why, label] of Object.entries(refused)) {
  test(`rejects a label: ${why}`, (t) => {
    const { contacts } = open(t)
    assert.throws(() => contacts.set(alice, label), { code: 'bad_label' })
    assert.deepEqual(contacts.list(), [])
  })
}

test('a stored label with a blank character of an earlier version is shown with a replacement', (t) => {
  const { contacts, file } = open(t)
  contacts.set(alice, 'shop')
  writeFileSync(file, readFileSync(file, 'utf8').replace('shop', 'pay\u2800pal'))
  assert.deepEqual(new Contacts({ file }).list(), [{ address: alice, label: 'pay\ufffdpal' }])
})

test('accepts letters of every script and emoji, in one form', (t) => {
  const { contacts } = open(t)
  for (const label of ['Café', 'Größe 12', '取引所', 'متجر', '❤️ fund', 'x'.repeat(64)]) {
    assert.equal(contacts.set(alice, label.normalize('NFD')), label.normalize('NFC'))
  }
})

test('rejects the label of another address, regardless of its spelling', (t) => {
  const { contacts } = open(t)
  contacts.set(alice, 'Exchange')
  for (const label of ['Exchange', 'EXCHANGE', 'Ｅxchange']) {
    assert.throws(() => contacts.set(bob, label), { code: 'label_taken' })
  }
  assert.equal(contacts.set(alice, 'EXCHANGE'), 'EXCHANGE')
})

test('holds 1,000 contacts and rejects one more, but renames', (t) => {
  const { file, contacts } = open(t)
  const all = Array.from({ length: maxContacts }, (_, index) => ({ address: addressOf(index + 10), label: `${index}` }))
  writeFileSync(file, JSON.stringify({ version: 1, contacts: all }))
  assert.throws(() => contacts.set(alice, 'one more'), { code: 'too_many_contacts' })
  contacts.set(all[0]!.address, 'renamed')
  assert.equal(contacts.list().length, maxContacts)
})

const damaged: { [why: string]: [content: string, message: RegExp] } = {
  'not JSON': ['{"version": 1, "contacts": [', /it is not JSON/],
  'a newer version': ['{"version": 2, "contacts": []}', /version/],
  'no list': ['{"version": 1, "contacts": {}}', /does not contain a list/],
  'a wrong address': [JSON.stringify({ version: 1, contacts: [{ address: 'X', label: 'a' }] }), /address of contact 1/],
  'a label with an escape': [
    JSON.stringify({ version: 1, contacts: [{ address: alice, label: '\u001b[2J' }] }),
    /label of contact 1/,
  ],
  'an address twice': [
    JSON.stringify({
      version: 1,
      contacts: [
        { address: alice, label: 'a' },
        { address: alice, label: 'b' },
      ],
    }),
    /contact 2 has the same address/,
  ],
  'too large': [' '.repeat(1024 * 1024 + 1), /more than 1048576 bytes/],
}
for (const [why, [content, message]] of Object.entries(damaged)) {
  test(`a file with ${why} is an error that names it, and stays unchanged`, (t) => {
    const { file, contacts } = open(t)
    writeFileSync(file, content)
    const expected = { code: 'state_file_damaged', message }
    assert.throws(() => contacts.list(), expected)
    assert.throws(() => contacts.set(alice, 'new'), expected)
    assert.throws(() => contacts.delete(alice), { code: 'state_file_damaged', message: /latchkey_contacts\.json/ })
    assert.equal(readFileSync(file, 'utf8'), content)
  })
}

test('a file that is replaced while the daemon runs is read again', (t) => {
  const { file, contacts } = open(t)
  contacts.set(alice, 'before')
  assert.deepEqual(contacts.list(), [{ address: alice, label: 'before' }])
  writeFileSync(file, JSON.stringify({ version: 1, contacts: [{ address: bob, label: 'behind' }] }))
  assert.deepEqual(contacts.list(), [{ address: bob, label: 'behind' }])
})

test('a directory or pipe in place of the file is an error and does not block', (t) => {
  const { file, contacts } = open(t)
  mkdirSync(file)
  assert.throws(() => contacts.list(), { code: 'state_file_damaged', message: /not a regular file/ })
})

test('a failed write is an error, and changes nothing', (t) => {
  const { file, contacts } = open(t)
  contacts.set(alice, 'kept')
  const before = readFileSync(file)
  // In place of the temporary file: root may write everywhere, but not through a directory.
  mkdirSync(`${file}.new`)
  assert.throws(() => contacts.set(bob, 'lost'), { code: 'state_file_not_saved', message: /latchkey_contacts\.json/ })
  assert.throws(() => contacts.delete(alice), { code: 'state_file_not_saved' })
  assert.deepEqual(contacts.list(), [{ address: alice, label: 'kept' }])
  assert.deepEqual(readFileSync(file), before)
})
