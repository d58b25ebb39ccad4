import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { storeFrom, storeVariable } from './StoreAddress.js'

const plain = 'postgres://facilitator@db.example/latchkey'
const secret = 'postgresql://facilitator:hunter2@db.example/latchkey?sslmode=verify-full'

test('accepts a file or an address of PostgreSQL', () => {
  assert.deepEqual(storeFrom({ store: './a:b.db' }, {}), { type: 'sqlite', path: './a:b.db' })
  assert.deepEqual(storeFrom({ store: plain }, {}), { type: 'postgres', address: plain })
  assert.deepEqual(storeFrom({}, { [storeVariable]: secret }), { type: 'postgres', address: secret })
  assert.equal(storeFrom({ store: 'x.db' }, { [storeVariable]: secret }).type, 'sqlite', 'the option comes first')
  const unset = storeFrom({}, { [storeVariable]: '', DATABASE_URL: secret })
  assert.equal(unset.type, 'sqlite', 'a variable of other programs is not taken')
})

test('a password in the arguments is refused and not repeated', () => {
  for (const store of [
    secret,
    'POSTGRES://u:hunter2@h/d',
    'postgres://u:hunter2@%2Frun%2Fpg/d',
    'postgres://u:p@ss:hunter2@h/d',
    'postgres:///d?host=/run&password=hunter2',
    'postgres://h/d?PASSWORD=hunter2',
  ]) {
    assert.throws(
      () => storeFrom({ store }, {}),
      (error: Error & { exit?: string; hint?: string }) => {
        assert.match(error.message, /--store contains a password/, store)
        assert.doesNotMatch(`${error.message} ${error.hint}`, /hunter2/)
        return error.exit === 'usage'
      },
    )
  }
  for (const store of ['postgres://u@h:5432/d', 'postgres://h/d?options=-c%20x', 'postgres://[::1]:5432/d']) {
    assert.equal(storeFrom({ store }, {}).type, 'postgres', store)
  }
})

test('another kind of database is refused, without its password', () => {
  assert.throws(
    () => storeFrom({ store: 'redis://:hunter2@h' }, {}),
    (error: Error) => /databases of type redis are not supported/.test(error.message) && !/hunter2/.test(error.message),
  )
})

test('an address from a file is its first line', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-store-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'address')
  writeFileSync(file, `${secret}\nmore\n`)
  assert.deepEqual(storeFrom({ 'store-file': file }, {}), { type: 'postgres', address: secret })
  assert.throws(() => storeFrom({ 'store-file': file, store: 'x.db' }, {}), /only one of/)
  writeFileSync(file, '\n')
  assert.throws(() => storeFrom({ 'store-file': file }, {}), /contains no database address/)
  assert.throws(() => storeFrom({ 'store-file': join(directory, 'none') }, {}), { code: 'file_unreadable' })
})
