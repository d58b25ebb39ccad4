import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { StateFileError } from '../errors.js'
import type { Ledger } from '../ledger/Ledger.js'
import type { LedgerChange } from '../ledger/LedgerChange.js'
import * as Dump from './Dump.js'
import {
  anyStep,
  freshLedger,
  genesis,
  LedgerSimulator,
  otherGenesis,
  temporaryDirectory,
} from './LedgerSimulator.test.helper.js'
import { maxOutstandingBytes, StateFile } from './StateFile.js'
import * as ChangeRecord from './state-file/ChangeRecord.js'
import * as FileHeader from './state-file/FileHeader.js'
import { scan } from './state-file/scan.js'
import '../../../../test/seed.mjs'

const { genesisHash } = genesis.chain
const hashOf = (ledger: Ledger): string => Dump.hash(ledger.snapshot())
const newPath = (t: TestContext): string => join(temporaryDirectory(t), 'changes.log')

/** Creates a ledger whose changes are written to a file. */
async function logged(path: string): Promise<{ simulator: LedgerSimulator; log: StateFile }> {
  const log = await StateFile.open({ path, genesis, replay: () => assert.fail('there is nothing to replay') })
  return { simulator: new LedgerSimulator((change) => log.append(change)), log }
}

/** Returns the ledger after replaying a file. */
async function replayed(path: string): Promise<{ ledger: Ledger; log: StateFile; changes: LedgerChange['type'][] }> {
  const ledger = freshLedger()
  const changes: LedgerChange['type'][] = []
  const replay = (change: LedgerChange): void => {
    changes.push(change.type)
    ledger.replay(change)
  }
  return { ledger, log: await StateFile.open({ path, genesis, replay }), changes }
}

async function replayedHash(path: string): Promise<string> {
  const { ledger, log } = await replayed(path)
  await log.close()
  return hashOf(ledger)
}

test('replaying the file gives the same ledger', async (t) => {
  const path = newPath(t)
  const { simulator, log } = await logged(path)
  const kinds = ['keep', 'block', 'restore', 'pay', 'block', 'reset', 'time', 'offset', 'fund', 'block', 'pay'] as const
  simulator.fill()
  for (const verb of kinds) simulator.perform({ do: verb, a: 1, b: 2, n: 5 })
  await log.close()
  const { ledger, log: again, changes } = await replayed(path)
  await again.close()
  assert.deepEqual([...new Set(changes)].sort(), ['block', 'clock', 'fund', 'group', 'reset', 'restore'])
  assert.equal(hashOf(ledger), hashOf(simulator.ledger))
  assert.equal(Dump.write(ledger.snapshot(), genesisHash), Dump.write(simulator.ledger.snapshot(), genesisHash))
})

test('replaying random changes gives the same ledger', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
      const other = freshLedger()
      const simulator = new LedgerSimulator((change) => {
        const record = ChangeRecord.encode(change, genesisHash)
        other.replay(ChangeRecord.decode(record.subarray(ChangeRecord.headerBytes), genesis))
      })
      for (const step of steps) simulator.perform(step)
      assert.equal(hashOf(other), hashOf(simulator.ledger))
      assert.equal(Dump.write(other.snapshot(), genesisHash), Dump.write(simulator.ledger.snapshot(), genesisHash))
    }),
    { numRuns: 100 },
  )
})

test('has mode 0600, and appends after reopening', async (t) => {
  const path = newPath(t)
  const { log } = await logged(path)
  await log.close()
  assert.equal(statSync(path).mode & 0o777, 0o600)
  for (let count = 0; count < 3; count++) {
    const { ledger, log: again } = await replayed(path)
    assert.equal(ledger.last.round, BigInt(count))
    again.append({ type: 'block', timestamp: 9n })
    await again.close()
  }
})

for (const verb of ['block', 'pay', 'time'] as const) {
  test(`truncates an unfinished record at every length: ${verb}`, async (t) => {
    const path = newPath(t)
    const { simulator, log } = await logged(path)
    simulator.perform({ do: 'pay', a: 1, b: 2, n: 1 })
    await log.synced()
    const before = { hash: hashOf(simulator.ledger), size: statSync(path).size }
    simulator.perform({ do: verb, a: 1, b: 2, n: 1 })
    await log.close()
    const whole = readFileSync(path)
    // Taking a lock starts a process, so most offsets are tested without one.
    for (let end = before.size; end < whole.length; end++) {
      writeFileSync(path, whole.subarray(0, end))
      if (end < before.size + 25 || end + 3 > whole.length) {
        const { ledger, log: again } = await replayed(path)
        assert.deepEqual([hashOf(ledger), again.truncatedBytes], [before.hash, end - before.size])
        assert.equal(statSync(path).size, before.size)
        await again.close()
      } else {
        const { changes, end: found } = await scanned(path)
        assert.deepEqual([changes, found], [['group'], before.size])
      }
    }
  })
}

async function scanned(path: string): Promise<{ changes: LedgerChange['type'][]; end: number }> {
  const handle = await open(path, 'r')
  const changes: LedgerChange['type'][] = []
  try {
    const { end } = await scan({ handle, path, genesis, replay: ({ type }) => changes.push(type) })
    return { changes, end }
  } finally {
    await handle.close()
  }
}

test('truncates trailing zeroes, as after a power failure', async (t) => {
  const path = newPath(t)
  const { log } = await logged(path)
  log.append({ type: 'block', timestamp: 1n })
  await log.close()
  const whole = readFileSync(path)
  const next = ChangeRecord.encode({ type: 'block', timestamp: 2n }, genesisHash)
  for (const tail of [
    Buffer.alloc(5_000),
    Buffer.concat([next.subarray(0, 15), Buffer.alloc(500)]),
    Buffer.alloc(9, 255),
  ]) {
    writeFileSync(path, Buffer.concat([whole, tail]))
    const { ledger, log: again } = await replayed(path)
    assert.deepEqual([ledger.last.round, again.truncatedBytes], [1n, tail.length])
    await again.close()
    assert.deepEqual(readFileSync(path), whole)
  }
})

test('truncates an unfinished record whose payload contains a record', async (t) => {
  const path = newPath(t)
  const { log } = await logged(path)
  await log.close()
  const inner = ChangeRecord.encode({ type: 'block', timestamp: 1n }, genesisHash)
  const outer = ChangeRecord.encode({ type: 'group', bytes: Buffer.concat([inner, Buffer.alloc(50)]) }, genesisHash)
  appendFileSync(path, outer.subarray(0, -1))
  const { log: again, changes } = await replayed(path)
  assert.deepEqual([changes, again.truncatedBytes], [[], outer.length - 1])
  await again.close()
})

test('reports damage before the last record with its offset, and keeps the file', async (t) => {
  const path = newPath(t)
  const { simulator, log } = await logged(path)
  simulator.perform({ do: 'block', a: 0, b: 0, n: 0 })
  await log.synced()
  const start = statSync(path).size
  simulator.perform({ do: 'pay', a: 0, b: 1, n: 5 })
  await log.synced()
  const end = statSync(path).size
  simulator.perform({ do: 'block', a: 0, b: 0, n: 0 })
  await log.close()
  const whole = readFileSync(path)
  for (let at = start; at < end; at++) {
    const damaged = Buffer.from(whole)
    damaged[at]! ^= 0x41
    writeFileSync(path, damaged)
    await assert.rejects(scanned(path), (error: Error) => {
      return error instanceof StateFileError && error.message.includes(`damaged at byte ${start}:`)
    })
    if (at % 50 === 0) {
      await assert.rejects(replayed(path), (error: StateFileError) => error.hint?.includes(`truncate -s ${start} `))
      assert.deepEqual(readFileSync(path), damaged)
    }
  }
})

test('reads records larger than the read window', async (t) => {
  const path = newPath(t)
  const { log } = await logged(path)
  const sizes = [10, 3_000_000, 1_048_576 - 25, 1, 1_048_576, 5]
  for (const size of sizes) log.append({ type: 'group', bytes: new Uint8Array(size).fill(size % 251) })
  await log.close()
  const seen: number[] = []
  const replay = (change: LedgerChange): void => {
    assert.ok(change.type === 'group' && change.bytes.every((byte) => byte === change.bytes.length % 251))
    seen.push(change.bytes.length)
  }
  await (await StateFile.open({ path, genesis, replay })).close()
  assert.deepEqual(seen, sizes)
})

test('rejects a change that cannot be replayed, and truncates nothing', async (t) => {
  const path = newPath(t)
  const { log } = await logged(path)
  log.append({ type: 'group', bytes: new Uint8Array(40) })
  await log.close()
  appendFileSync(path, 'unfinished')
  const size = statSync(path).size
  await assert.rejects(replayed(path), new RegExp(`the change at byte ${FileHeader.length} cannot be replayed`))
  assert.equal(statSync(path).size, size)
})

test('rejects another network, another version and another kind of file', async (t) => {
  const path = newPath(t)
  const { log } = await logged(path)
  await log.close()
  const replay = (): void => {}
  await assert.rejects(StateFile.open({ path, genesis: otherGenesis, replay }), { code: 'state_file_network' })
  const whole = readFileSync(path)
  const changed = (at: number): Buffer => Buffer.from(whole.map((byte, index) => (index === at ? byte ^ 2 : byte)))
  const files: [Uint8Array, StateFileError['code']][] = [
    [changed(11), 'state_file_version'],
    [changed(20), 'state_file_damaged'],
    [changed(0), 'state_file_unrecognized'],
    [whole.subarray(0, -1), 'state_file_unrecognized'],
    [Buffer.alloc(0), 'state_file_unrecognized'],
  ]
  for (const [bytes, code] of files) {
    writeFileSync(path, bytes)
    await assert.rejects(StateFile.open({ path, genesis, replay }), { name: 'StateFileError', code })
    assert.deepEqual(readFileSync(path), Buffer.from(bytes))
  }
})

test('locks the file, and releases the lock', async (t) => {
  const path = newPath(t)
  const { log } = await logged(path)
  await assert.rejects(replayed(path), { name: 'StateFileError', code: 'state_file_locked' })
  assert.equal(spawnSync('flock', ['-x', '-n', `${path}.lock`, 'true']).status, 1)
  await log.compact(freshLedger().snapshot())
  await assert.rejects(replayed(path), { code: 'state_file_locked' })
  await log.close()
  const { log: again } = await replayed(path)
  await again.close()
  writeFileSync(path, 'something else')
  await assert.rejects(replayed(path), { code: 'state_file_unrecognized' })
  await assert.rejects(replayed(path), { code: 'state_file_unrecognized' }, 'the failed open released the lock')
})

test('writes changes in batches, one at a time, and resolves immediately without changes', async (t) => {
  const path = newPath(t)
  const { log } = await logged(path)
  const syncs = await countedSyncs(t, path)
  assert.equal(log.isSynced, true)
  assert.equal(log.synced(), log.synced())
  for (let count = 0; count < 100; count++) log.append({ type: 'block', timestamp: BigInt(count) })
  assert.equal(log.isSynced, false)
  const first = log.synced()
  assert.equal(log.synced(), first, 'who waits for the same waits together')
  await new Promise((resolve) => setImmediate(resolve))
  for (let count = 0; count < 100; count++) log.append({ type: 'block', timestamp: BigInt(count) })
  const second = log.synced()
  assert.notEqual(second, first)
  await first
  assert.equal(log.isSynced, false)
  assert.equal(statSync(path).size - FileHeader.length >= 100 * 21, true)
  await second
  assert.equal(log.isSynced, true)
  assert.deepEqual([syncs.count, syncs.mostAtOnce], [2, 1])
  await log.close()
  assert.equal(statSync(path).size, FileHeader.length + 200 * 21)
})

/** Records the syncs of every file. */
async function countedSyncs(t: TestContext, path: string): Promise<{ count: number; mostAtOnce: number }> {
  const prototype = await handlePrototype(path)
  const counts = { count: 0, mostAtOnce: 0 }
  const original = prototype.datasync
  let now = 0
  t.mock.method(prototype, 'datasync', async function (this: FileHandle) {
    counts.count++
    counts.mostAtOnce = Math.max(counts.mostAtOnce, ++now)
    await original.call(this)
    now--
  })
  return counts
}

async function handlePrototype(path: string): Promise<FileHandle> {
  const handle = await open(path)
  await handle.close()
  return Object.getPrototypeOf(handle)
}

test('a full disk rejects all waiting and later calls, and keeps acknowledged changes', async (t) => {
  const path = newPath(t)
  const { simulator, log } = await logged(path)
  simulator.fill()
  await log.synced()
  const hash = hashOf(simulator.ledger)
  const full = await open('/dev/full', 'r+')
  t.after(() => full.close())
  const prototype = await handlePrototype(path)
  const original = prototype.write as (...values: unknown[]) => Promise<{ bytesWritten: number }>
  let left = 10
  // The disk has room for ten more bytes.
  const write = t.mock.method(prototype, 'write', function (this: FileHandle, ...[bytes, from, length, at]: unknown[]) {
    const room = Math.min(left, length as number)
    left -= room
    return room > 0 ? original.call(this, bytes, from, room, at) : original.call(full, bytes, from, length)
  })
  simulator.perform({ do: 'block', a: 0, b: 0, n: 0 })
  const waiting = log.synced()
  await new Promise((resolve) => setImmediate(resolve))
  simulator.perform({ do: 'block', a: 0, b: 0, n: 0 })
  const later = log.synced()
  const compaction = log.compact(simulator.ledger.snapshot())
  for (const promise of [waiting, later, compaction]) await assert.rejects(promise, /cannot be written: ENOSPC/)
  assert.equal(log.isSynced, false)
  await assert.rejects(log.synced(), StateFileError)
  write.mock.restore()
  await assert.rejects(log.synced(), /ENOSPC/)
  assert.throws(() => log.append({ type: 'reset' }), /cannot be written: ENOSPC/)
  assert.throws(() => log.compact(simulator.ledger.snapshot()), StateFileError)
  await assert.rejects(log.close(), /ENOSPC/)
  assert.equal(await replayedHash(path), hash)
})

test('a failed sync is not retried', async (t) => {
  const path = newPath(t)
  const { log } = await logged(path)
  const prototype = await handlePrototype(path)
  const sync = t.mock.method(prototype, 'datasync', () => Promise.reject(new Error('EIO: i/o error')))
  log.append({ type: 'reset' })
  await assert.rejects(log.synced(), /EIO/)
  sync.mock.restore()
  await assert.rejects(log.synced(), /EIO/)
  await assert.rejects(log.close(), /EIO/)
})

test('limits the bytes that wait for the disk', async (t) => {
  const path = newPath(t)
  const { log } = await logged(path)
  const bytes = new Uint8Array(maxOutstandingBytes / 4)
  for (let count = 0; count < 4; count++) log.append({ type: 'group', bytes })
  assert.throws(() => log.append({ type: 'reset' }), /the disk is too slow/)
  await log.synced()
  log.append({ type: 'reset' })
  await log.close()
  assert.equal(
    statSync(path).size,
    FileHeader.length + 4 * (ChangeRecord.headerBytes + 1 + bytes.length) + ChangeRecord.headerBytes + 1,
  )
})

test('compaction keeps the order of changes and shrinks the file', async (t) => {
  const path = newPath(t)
  const { simulator, log } = await logged(path)
  for (let count = 0; count < 40; count++) simulator.perform({ do: 'fund', a: 0, b: 1, n: 1_000 })
  simulator.fill()
  const grown = log.bytesSinceCompaction
  const compaction = log.compact(simulator.ledger.snapshot())
  assert.equal(log.bytesSinceCompaction, 0)
  simulator.perform({ do: 'block', a: 0, b: 0, n: 0 })
  simulator.perform({ do: 'pay', a: 2, b: 1, n: 5 })
  await compaction
  await log.synced()
  assert.ok(log.bytesSinceCompaction < grown && log.bytesSinceCompaction > 0)
  simulator.perform({ do: 'block', a: 0, b: 0, n: 0 })
  const since = log.bytesSinceCompaction
  await log.close()
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(join(path, '..')).sort(), ['changes.log', 'changes.log.lock'])
  const { ledger, log: again, changes } = await replayed(path)
  assert.deepEqual(changes, ['restore', 'block', 'group', 'block'])
  assert.equal(hashOf(ledger), hashOf(simulator.ledger))
  assert.equal(again.bytesSinceCompaction, since)
  await again.close()
})

test('a failed compaction keeps the old file in use', async (t) => {
  const path = newPath(t)
  const { simulator, log } = await logged(path)
  simulator.fill()
  const prototype = await handlePrototype(path)
  const sync = t.mock.method(prototype, 'sync', () => Promise.reject(new Error('ENOSPC: no room')))
  const compaction = log.compact(simulator.ledger.snapshot())
  simulator.perform({ do: 'block', a: 0, b: 0, n: 0 })
  await assert.rejects(compaction, /ENOSPC/)
  await log.synced()
  sync.mock.restore()
  assert.deepEqual(readdirSync(join(path, '..')).sort(), ['changes.log', 'changes.log.lock'])
  await log.close()
  assert.equal(await replayedHash(path), hashOf(simulator.ledger))
})

test('overwrites the temporary file of an interrupted compaction', async (t) => {
  const path = newPath(t)
  const { simulator, log } = await logged(path)
  simulator.fill()
  writeFileSync(`${path}.new`, 'half of a file')
  await log.compact(simulator.ledger.snapshot())
  await log.close()
  assert.equal(await replayedHash(path), hashOf(simulator.ledger))
})

test('rejects use after close, and close is idempotent', async (t) => {
  const path = newPath(t)
  const { log } = await logged(path)
  log.append({ type: 'reset' })
  await Promise.all([log.close(), log.close()])
  assert.throws(() => log.append({ type: 'reset' }), /was closed/)
  assert.throws(() => log.compact(freshLedger().snapshot()), /was closed/)
})
