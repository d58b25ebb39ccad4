import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Address } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { age, createFile, sql } from '../testing/WalletFixture.test.helper.js'
import { AddressList, type AddressSource } from './AddressList.js'
import { WalletFile } from './WalletFile.js'

const sorted = (addresses: Uint8Array[]): string[] => [...addresses].sort(Buffer.compare).map(Address.encode)

/** A table in memory that counts its reads. */
function table(addresses: Uint8Array[]) {
  const state = { version: 1, pages: 0, snapshots: 0 }
  const source: AddressSource = {
    foreignVersion: () => String(state.version),
    page: (after, limit) => {
      state.pages++
      const all = [...addresses].sort(Buffer.compare)
      return all.filter((address) => after === undefined || Buffer.compare(address, after) > 0).slice(0, limit)
    },
    snapshot: (work) => {
      state.snapshots++
      work()
    },
  }
  return { list: new AddressList(source), state, addresses }
}

const random = (count: number): Buffer[] => Array.from({ length: count }, () => randomBytes(32))

function readAll(list: AddressList): readonly string[] {
  for (let reads = 0; reads < 1000; reads++) {
    const found = list.read()
    if (found !== undefined) return found
  }
  return assert.fail('never complete')
}

test('a long list is read page by page, and is the same object until something changes', () => {
  const { list, state, addresses } = table(random(2500))
  assert.equal(list.read(), undefined)
  assert.equal(list.read(), undefined)
  const found = list.read()
  assert.deepEqual(found, sorted(addresses))
  assert.equal(state.pages, 3)
  assert.equal(list.read(), found)
  assert.equal(state.pages, 3)
})

test('changes by the daemon keep the byte order, without reading anything again', () => {
  const { list, state, addresses } = table(random(500))
  readAll(list)
  for (let i = 0; i < 500; i++) {
    const [added] = random(1)
    addresses.push(added!)
    list.insert(added!)
    const [removed] = addresses.splice((i * 7919) % addresses.length, 1)
    list.remove(removed!)
  }
  list.remove(randomBytes(32))
  list.remove(Buffer.alloc(3))
  list.insert(addresses[0]!)
  assert.deepEqual(list.read(), sorted(addresses))
  assert.equal(state.pages, 1)
})

test('changes by the daemon between two pages appear in the list once', () => {
  const { list, addresses } = table(random(5000))
  for (let pages = 0; list.read() === undefined; pages++) {
    for (const added of random(20)) {
      addresses.push(added)
      list.insert(added)
    }
    for (const removed of addresses.splice(pages * 30, 20)) list.remove(removed)
  }
  assert.deepEqual(list.read(), sorted(addresses))
})

test('a change by another program between two pages restarts the read; repeated changes cause one complete read', () => {
  const { list, state, addresses } = table(random(3000))
  assert.equal(list.read(), undefined)
  addresses.splice(0, 1500)
  state.version++
  assert.deepEqual(readAll(list), sorted(addresses))
  for (let reads = 0; ; reads++) {
    state.version++
    if (list.read() !== undefined) break
    assert.ok(reads < 20)
  }
  assert.deepEqual(list.read(), sorted(addresses))
  assert.equal(state.snapshots, 1)
})

test('an index that returns earlier rows again is reported as damaged, not read endlessly', () => {
  const [address] = random(1)
  const list = new AddressList({
    foreignVersion: () => '1',
    page: () => Array.from({ length: 1000 }, () => address!),
    snapshot: (work) => work(),
  })
  assert.throws(
    () => readAll(list),
    (error) => error instanceof KmdError && error.code === 'damaged_blob',
  )
})

function openFile(t: TestContext): { file: WalletFile; path: string } {
  const path = join(temporaryDirectory(t), 'one.db')
  createFile(path)
  const file = new WalletFile(path)
  t.after(() => file.close())
  return { file, path }
}

test("a wallet's list follows the daemon and other programs, even within a tick of the clock", async (t) => {
  const { file, path } = openFile(t)
  const stored = (): string[] =>
    sql(path, 'SELECT address FROM keys ORDER BY address').map((row) =>
      Address.encode((row as { address: Buffer }).address),
    )
  for (let round = 0; round < 100; round++) {
    const [own, foreign] = random(2)
    file.insertKey(own!, Buffer.of(1))
    assert.deepEqual(file.keyAddresses.read(), stored())
    sql(path, "INSERT INTO keys VALUES (?, x'01', NULL)", foreign!)
    if (round % 10 === 0) age(path)
    assert.ok(file.isCurrent())
    assert.deepEqual(readAll(file.keyAddresses), stored())
    if (round % 3 === 0) file.deleteKey(own!)
    assert.deepEqual(file.keyAddresses.read(), stored())
    // Garbage-collected statements release their files in a later turn of the event loop.
    if (round % 10 === 9) await setImmediate()
  }
})

test('an invalid address in the table is damage', (t) => {
  const { file, path } = openFile(t)
  for (const value of ["'text'", '7', 'NULL', "x''", "x'01'"]) {
    sql(path, `INSERT INTO keys VALUES (${value}, x'01', NULL)`)
    assert.throws(
      () => readAll(file.keyAddresses),
      (error) => error instanceof KmdError && error.code === 'damaged_blob',
    )
    sql(path, 'DELETE FROM keys')
  }
})
