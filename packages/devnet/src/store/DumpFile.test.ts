import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { DumpError } from '../errors.js'
import * as Dump from './Dump.js'
import * as DumpFile from './DumpFile.js'
import { genesis, LedgerSimulator, temporaryDirectory } from './LedgerSimulator.test.helper.js'

const { genesisHash } = genesis.chain

test('writes a dump atomically with mode 0600, and reads it', async (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'dump.json')
  const simulator = new LedgerSimulator()
  simulator.fill()
  const snapshot = simulator.ledger.snapshot()
  writeFileSync(path, 'what was there before', { mode: 0o644 })
  await Promise.all([1, 2, 3].map(() => DumpFile.write(path, snapshot, genesisHash)))
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(directory), ['dump.json'])
  assert.equal(Dump.hash(await DumpFile.read(path, genesis)), Dump.hash(snapshot))
})

test('a failed write keeps the old file and leaves no other', async (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'dump.json')
  writeFileSync(path, 'what was there before')
  const handle = await open(path)
  await handle.close()
  t.mock.method(Object.getPrototypeOf(handle), 'sync', () => Promise.reject(new Error('ENOSPC: no room')))
  await assert.rejects(DumpFile.write(path, new LedgerSimulator().ledger.snapshot(), genesisHash), /ENOSPC/)
  assert.deepEqual(readdirSync(directory), ['dump.json'])
  assert.equal(readFileSync(path, 'utf8'), 'what was there before')
})

test('rejects input that is too large, not a file, or not a dump', async (t) => {
  const path = join(temporaryDirectory(t), 'dump.json')
  writeFileSync(path, '')
  truncateSync(path, DumpFile.maxBytes + 1)
  await assert.rejects(DumpFile.read(path, genesis), DumpError)
  await assert.rejects(DumpFile.read('/dev/zero', genesis), /is not a file/)
  await assert.rejects(DumpFile.read(join(path, '..'), genesis), /is not a file/)
  writeFileSync(path, '{}')
  await assert.rejects(DumpFile.read(path, genesis), DumpError)
})
