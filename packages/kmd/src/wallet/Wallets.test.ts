import assert from 'node:assert/strict'
import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Msgpack } from '@latchkey/algorand'
import { type Code, KmdError } from '../errors.js'
import { cheapScrypt, openWallets } from '../testing/TestApp.test.helper.js'
import { sql } from '../testing/WalletFixture.test.helper.js'
import * as Blob from './Blob.js'
import type { WalletInfo, Wallets } from './Wallets.js'

const none: Buffer = Buffer.alloc(0)
const create = (wallets: Wallets, name: string | Buffer, password = 'secret', key = none): Promise<WalletInfo> =>
  wallets.create({ name: Buffer.from(name), password: Buffer.from(password), masterDerivationKey: key })
const rename = (wallets: Wallets, { id }: WalletInfo, name: string, password = 'secret'): Promise<WalletInfo> =>
  wallets.rename({ key: id.toString(), password: Buffer.from(password), name: Buffer.from(name) })
const fails = (code: Code, work: Promise<unknown>): Promise<void> =>
  assert.rejects(work, (error: KmdError) => error.code === code || assert.fail(`${error} is not ${code}`))
const names = async (wallets: Wallets): Promise<string[]> => (await wallets.list()).map(({ name }) => name.toString())
async function unlock(t: TestContext, wallets: Wallets, { id }: WalletInfo, password = 'secret') {
  const unlocked = await wallets.unlock(await wallets.find(id.toString()), Buffer.from(password), (wallet) => wallet)
  t.after(() => unlocked.lock())
  return unlocked
}

test('a created wallet can be unlocked with its password, and with no other', async (t) => {
  const { wallets } = openWallets(t)
  const info = await create(wallets, 'one')
  assert.match(info.id.toString(), /^[0-9a-f]{32}$/)
  const unlocked = await unlock(t, wallets, info)
  assert.deepEqual(unlocked.name(), Buffer.from('one'))
  for (const password of ['', 'Secret', 'secret ']) await fails('wrong_password', unlock(t, wallets, info, password))
})

test('a blank password is a password like any other', async (t) => {
  const { wallets } = openWallets(t)
  const info = await create(wallets, 'one', '')
  await unlock(t, wallets, info, '')
  await fails('wrong_password', unlock(t, wallets, info, ' '))
})

test('a given master derivation key is used; zeros or an absent key give a random one', async (t) => {
  const { wallets } = openWallets(t)
  const given = Buffer.alloc(32, 7)
  const keyOf = async (name: string, key?: Buffer): Promise<Buffer> =>
    (await unlock(t, wallets, await create(wallets, name, 'secret', key))).masterDerivationKey()
  const [a, b, c] = [await keyOf('given', given), await keyOf('zero', Buffer.alloc(32)), await keyOf('absent')]
  assert.deepEqual(a, given)
  assert.notDeepEqual(b, c)
  assert.notDeepEqual(b, Buffer.alloc(32))
})

test('files are named after the safe characters of the name, and the id', async (t) => {
  const { wallets, directory } = openWallets(t)
  const written = ['plain-Name_1', '../../etc/passwd', 'ü\0 /', '']
  const made: WalletInfo[] = []
  for (const name of written) made.push(await create(wallets, name))
  const ids = made.map(({ id }) => id.toString())
  assert.deepEqual(
    readdirSync(directory).sort(),
    [`plain-Name_1.${ids[0]}.db`, `etcpasswd.${ids[1]}.db`, `.${ids[2]}.db`, `${ids[3]}.db`].sort(),
  )
  assert.deepEqual(made[3]?.name, made[3]?.id, 'a blank name becomes the id')
})

test('a name has at most 64 bytes, of any value', async (t) => {
  const { wallets } = openWallets(t)
  await create(wallets, 'ü'.repeat(32))
  await fails('name_too_long', create(wallets, `${'ü'.repeat(32)}x`))
  const { name } = await create(wallets, Buffer.of(0xff, 0, 0x22))
  assert.deepEqual(
    (await wallets.list()).map((entry) => entry.name).find((bytes) => bytes.equals(name)),
    name,
  )
})

test('a name can be used once, compared by bytes', async (t) => {
  const { wallets } = openWallets(t)
  await create(wallets, 'one')
  await fails('name_taken', create(wallets, 'one'))
  await create(wallets, 'One')
  await create(wallets, 'one ')
})

test('of many concurrent creations with one name, exactly one succeeds', async (t) => {
  const { wallets, directory } = openWallets(t)
  const results = await Promise.allSettled(Array.from({ length: 6 }, () => create(wallets, 'wanted')))
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
  assert.deepEqual(await names(wallets), ['wanted'])
  assert.equal(readdirSync(directory).length, 1)
})

test('a name is free again after the operation that reserved it has failed', async (t) => {
  const { wallets } = openWallets(t)
  const other = await create(wallets, 'other')
  await fails('wrong_password', rename(wallets, other, 'wanted', 'wrong'))
  await create(wallets, 'wanted')
})

test('renaming checks the name first, then the password', async (t) => {
  const { wallets, directory } = openWallets(t)
  const one = await create(wallets, 'one')
  await create(wallets, 'two')
  const before = readdirSync(directory)
  await fails('name_blank', rename(wallets, one, '', 'wrong'))
  await fails('name_too_long', rename(wallets, one, 'x'.repeat(65), 'wrong'))
  await fails('name_taken', rename(wallets, one, 'two', 'wrong'))
  await fails('name_taken', rename(wallets, one, 'one', 'wrong'))
  await fails('wrong_password', rename(wallets, one, 'three', 'wrong'))
  await fails('wallet_not_found', rename(wallets, { id: Buffer.from('x'), name: none }, 'three'))
  const open = await unlock(t, wallets, one)
  assert.deepEqual(await rename(wallets, one, 'three'), { id: one.id, name: Buffer.from('three') })
  assert.deepEqual(await names(wallets), ['three', 'two'])
  assert.deepEqual(open.name(), Buffer.from('three'), 'an open wallet shows it')
  const after = readdirSync(directory).filter((name) => !name.endsWith('-journal'))
  assert.deepEqual(after, before, 'the file keeps its name')
  await create(wallets, 'one')
})

test('changing the password invalidates the old one and keeps the keys', async (t) => {
  const { wallets } = openWallets(t)
  const info = await create(wallets, 'one')
  const address = (await unlock(t, wallets, info)).generateKey()
  const entry = await wallets.find(info.id.toString())
  const change = (password: string, newPassword: string): Promise<void> =>
    wallets.changePassword(entry, {
      password: Buffer.from(password),
      newPassword: Buffer.from(newPassword),
      onChange: () => {},
    })
  await fails('wrong_password', change('wrong', 'new'))
  await unlock(t, wallets, info)
  await change('secret', 'new')
  await fails('wrong_password', unlock(t, wallets, info, 'secret'))
  const unlocked = await unlock(t, wallets, info, 'new')
  assert.equal(unlocked.exportKey(address).length, 64)
  assert.deepEqual(unlocked.generateKey().length, 32)
})

test('a removed wallet is gone from the list, and back after its file is renamed back', async (t) => {
  const { wallets, directory } = openWallets(t)
  const info = await create(wallets, 'one')
  const entry = await wallets.find(info.id.toString())
  await fails('wrong_password', wallets.remove(entry, Buffer.from('wrong')))
  const aside = await wallets.remove(entry, Buffer.from('secret'))
  assert.deepEqual(await names(wallets), [])
  assert.match(aside, /\.db\.deleted-[0-9T.Z-]+$/)
  assert.deepEqual(
    readdirSync(directory).map((file) => join(directory, file)),
    [aside],
  )
  await create(wallets, 'one')
  renameSync(aside, entry.path)
  await unlock(t, wallets, info)
})

test('a wallet is opened with its own scrypt parameters, within the ceilings', async (t) => {
  const { wallets, directory } = openWallets(t)
  const info = await create(wallets, 'one')
  const path = join(directory, readdirSync(directory)[0]!)
  const asking = (scrypt: Blob.Scrypt): void => {
    const stored = Blob.sealWithPasswordKey('master_key', Buffer.alloc(32), Buffer.alloc(32), Buffer.alloc(32), scrypt)
    sql(path, 'UPDATE metadata SET mep_encrypted = ?', stored)
  }
  asking({ n: 2 ** 30, r: 8, p: 1 })
  await fails('scrypt_ceiling', unlock(t, wallets, info))
  asking({ n: 3, r: 1, p: 1 })
  await fails('bad_scrypt_parameters', unlock(t, wallets, info))
  sql(path, 'UPDATE metadata SET mep_encrypted = ?', new Msgpack.Writer().mapHeader(0).bytes())
  await fails('bad_scrypt_parameters', unlock(t, wallets, info))
  sql(path, 'UPDATE metadata SET mep_encrypted = ?', Uint8Array.of(0xc1))
  await fails('damaged_blob', unlock(t, wallets, info))
})

test('invalid scrypt settings fail the creation, and leave no wallet', async (t) => {
  const { wallets, directory } = openWallets(t, { scrypt: { ...cheapScrypt, n: 3 } })
  await fails('bad_scrypt_parameters', create(wallets, 'one'))
  assert.deepEqual(readdirSync(directory), [])
})

test('too many derivations at once are rejected, and do not count as wrong passwords', async (t) => {
  const derivation = { derive: () => Promise.reject(new KmdError('derivation_busy', { retryAfterSeconds: 7 })) }
  const { wallets } = openWallets(t, { derivation })
  await assert.rejects(create(wallets, 'one'), { code: 'derivation_busy', retryAfterSeconds: 7 })
})

test('wrong passwords count against the wallet in every operation', async (t) => {
  const { wallets, throttle } = openWallets(t)
  const info = await create(wallets, 'one')
  const key = info.id.toString()
  await fails('wrong_password', unlock(t, wallets, info, 'a'))
  await fails('wrong_password', rename(wallets, info, 'new', 'b'))
  assert.equal(throttle.isOpen(key), true)
  await fails('wrong_password', wallets.remove(await wallets.find(key), Buffer.from('c')))
  assert.equal(throttle.isOpen(key), false)
})

test('of concurrent creations and renamings to one name, exactly one succeeds', async (t) => {
  const { wallets } = openWallets(t)
  const other = await create(wallets, 'other')
  const attempts = [
    ...Array.from({ length: 6 }, () => create(wallets, 'wanted')),
    ...Array.from({ length: 3 }, () => rename(wallets, other, 'wanted')),
  ]
  const outcomes = await Promise.allSettled(attempts)
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
  assert.equal((await names(wallets)).filter((name) => name === 'wanted').length, 1)
})

test('wallets that were created together can be unlocked together, at once', async (t) => {
  const { wallets } = openWallets(t)
  const made = await Promise.all(['a', 'b', 'c'].map((name) => create(wallets, name)))
  await Promise.all(made.map((info) => unlock(t, wallets, info)))
})
