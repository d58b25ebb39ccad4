import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { pbkdf2Sync, scryptSync } from 'node:crypto'
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { getPriority } from 'node:os'
import { afterEach, beforeEach, mock, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { KmdError } from '../errors.js'
import type { Derivation } from './Job.js'
import * as Romix from './Romix.js'
import { type Options, ScryptPool } from './ScryptPool.js'
import type { Assignment } from './worker.js'

const ofDefaultWallet = { n: 65536, r: 1, p: 32 }
/** Some milliseconds of work on workers. */
const quick = { n: 4096, r: 1, p: 8 }
/** Some more, but still a small part of the work for a default wallet. */
const longer = { n: 16384, r: 1, p: 16 }

const ownNiceness = getPriority()

let pools: ScryptPool[]
let assigned: { worker: Worker; assignment: Assignment }[]

beforeEach(() => {
  pools = []
  assigned = []
  const { postMessage } = Worker.prototype
  mock.method(Worker.prototype, 'postMessage', function (this: Worker, assignment: Assignment) {
    assigned.push({ worker: this, assignment })
    postMessage.call(this, assignment)
  })
})

afterEach(async () => {
  mock.restoreAll()
  await Promise.all(pools.map((pool) => pool.close()))
})

function poolOf(options: Options): ScryptPool {
  const pool = new ScryptPool(options)
  pools.push(pool)
  return pool
}

function derivation(change: Partial<Derivation> = {}): Derivation {
  return { password: Buffer.from('pw'), salt: Buffer.alloc(32), ...quick, keyLength: 32, ...change }
}

const hex = async (key: Promise<Buffer>) => (await key).toString('hex')
/** The same by Node, which rejects only the parameters of a default wallet. */
function node({ password, salt, n, r, p, keyLength }: Derivation): string {
  return scryptSync(password, salt, keyLength, { N: n, r, p, maxmem: 2 ** 28 }).toString('hex')
}

const workersUsed = () => new Set(assigned.map(({ worker }) => worker))

suite('sharing out the work', () => {
  test('spreads one derivation over all workers', async () => {
    await poolOf({ workers: 3 }).derive(derivation())
    assert.equal(workersUsed().size, 3)
    assert.equal(new Set(assigned.map(({ assignment }) => assignment.blocks)).size, 1)
  })

  test('starts no more workers than there are lanes', async () => {
    await poolOf({ workers: 3 }).derive(derivation({ n: 16384, p: 2 }))
    assert.equal(workersUsed().size, 2)
  })

  test('interleaves as many lanes as there is memory for, and uses fewer workers if there is too little', async () => {
    const sharedOut = async (laneMemoryBytes: number) => {
      assigned = []
      await poolOf({ workers: 2, laneMemoryBytes }).derive(derivation({ n: 8192 }))
      return [workersUsed().size, assigned[0]!.assignment.width]
    }
    const lane = 8192 * 128
    assert.deepEqual(await sharedOut(100 * lane), [2, 4])
    assert.deepEqual(await sharedOut(7 * lane), [2, 3])
    assert.deepEqual(await sharedOut(2 * lane), [2, 1])
    assert.deepEqual(await sharedOut(1 * lane), [1, 1])
    assert.deepEqual(await sharedOut(1), [1, 1])
  })

  test('does small work on the calling thread, and quickly', async () => {
    const pool = poolOf({ workers: 2 })
    await pool.derive(derivation({ n: 2, p: 32 }))
    const times: number[] = []
    for (let i = 0; i < 20; i++) {
      const startedMs = performance.now()
      await pool.derive(derivation({ n: 2, p: 32 }))
      times.push(performance.now() - startedMs)
    }
    assert.equal(assigned.length, 0)
    assert.ok(Math.min(...times) < 5, `${Math.min(...times)} ms`)
  })

  test('serves in order of arrival, regardless of size', async () => {
    const finished: number[] = []
    const pool = poolOf({ workers: 1 })
    await Promise.all(
      [32, 4, 16, 8].map(async (p, i) => {
        await pool.derive(derivation({ n: 8192, p }))
        finished.push(i)
      }),
    )
    assert.deepEqual(finished, [0, 1, 2, 3])
  })

  test('assigns a worker to the next derivation once the previous one has no lane left, not earlier', async () => {
    const pool = poolOf({ workers: 2 })
    const lanesLeft: number[] = []
    const unspied = Worker.prototype.postMessage
    mock.method(Worker.prototype, 'postMessage', function (this: Worker, assignment: Assignment) {
      const before = assigned.filter((other) => other.assignment.blocks !== assignment.blocks)
      lanesLeft.push(...before.map((other) => other.assignment.p - Atomics.load(other.assignment.nextLane, 0)))
      unspied.call(this, assignment)
    })
    await Promise.all([32, 4, 16, 8].map((p) => pool.derive(derivation({ n: 8192, p }))))
    assert.ok(lanesLeft.length > 0)
    assert.ok(Math.max(...lanesLeft) <= 0, `${lanesLeft}`)
  })

  test('does not block the event loop', async () => {
    const pool = poolOf({ workers: 2 })
    let longestMs = 0
    let lastMs = performance.now()
    const ticking = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - lastMs)
      lastMs = performance.now()
    }, 1)
    const startedMs = performance.now()
    await Promise.all([1, 2].map(() => pool.derive(derivation(ofDefaultWallet))))
    const elapsedMs = performance.now() - startedMs
    clearInterval(ticking)
    // Loose, because the machine has other work: even a single lane would take it a hundredth of the time.
    assert.ok(longestMs < elapsedMs / 4, `stood still for ${longestMs} of ${elapsedMs} ms`)
  })

  test('lowers the priority of the workers and of nothing else', { skip: process.platform !== 'linux' }, async () => {
    await poolOf({ workers: 2 }).derive(derivation(ofDefaultWallet))
    const after = niceness()
    assert.equal(after.get(process.pid), ownNiceness)
    const lowered = [...after.values()].filter((nice) => nice > ownNiceness)
    assert.deepEqual(lowered, ownNiceness < 10 ? [10, 10] : [])
  })
})

/** Niceness by thread. */
function niceness(): Map<number, number> {
  const threads = readdirSync('/proc/self/task').map((id): [number, number] => {
    const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8')
    // Field 19 of proc(5). Field 2 is a name in parentheses, which may hold spaces.
    return [Number(id), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])]
  })
  return new Map(threads)
}

suite('refusals', () => {
  test('rejects impossible and excessive parameters before any work', async () => {
    const pool = poolOf({ workers: 1 })
    await assert.rejects(pool.derive(derivation({ n: 3 })), { code: 'bad_scrypt_parameters' })
    await assert.rejects(pool.derive(derivation({ n: 2 ** 22 })), { code: 'scrypt_ceiling' })
    assert.equal(assigned.length, 0)
  })

  test('rejects work above the queue limit at once, with the time to retry after', async () => {
    const pool = poolOf({ workers: 1, queueLimit: 2 })
    let done = 0
    const accepted = [1, 2].map(async () => {
      await pool.derive(derivation(longer))
      done += 1
    })
    await assert.rejects(pool.derive(derivation()), (error) => {
      assert.ok(error instanceof KmdError && error.code === 'derivation_busy')
      assert.ok(Number.isInteger(error.retryAfterSeconds))
      assert.ok(error.retryAfterSeconds! >= 1 && error.retryAfterSeconds! <= 10)
      return true
    })
    assert.equal(done, 0)
    await Promise.all(accepted)
    await pool.derive(derivation())
  })

  test('estimates a longer wait for a longer queue', async () => {
    const waitFor = async (queueLimit: number) => {
      const pool = poolOf({ workers: 1, queueLimit })
      const keys = Array.from({ length: queueLimit + 1 }, () => pool.derive(derivation(ofDefaultWallet)))
      const outcomes = Promise.allSettled(keys)
      await pool.close()
      const last = (await outcomes).at(-1)
      assert.ok(last?.status === 'rejected' && last.reason.code === 'derivation_busy')
      return last.reason.retryAfterSeconds
    }
    assert.ok((await waitFor(40)) > (await waitFor(4)))
  })

  test('does small work even when the queue is full', async () => {
    const pool = poolOf({ workers: 1, queueLimit: 1 })
    const first = pool.derive(derivation())
    await pool.derive(derivation({ n: 2 }))
    await first
  })

  test('rejects options that allow no derivation', () => {
    for (const value of [0, -1, 1.5, Number.NaN]) {
      assert.throws(() => new ScryptPool({ workers: value }), RangeError)
      assert.throws(() => new ScryptPool({ queueLimit: value }), RangeError)
    }
  })
})

suite('secrets', () => {
  test('neither changes nor needs the password and salt after the call', async () => {
    const options = derivation({ password: Buffer.from('secret'), salt: Buffer.from('salt') })
    const expected = node(options)
    const pool = poolOf({ workers: 1 })
    const first = pool.derive(derivation({ n: 16384 }))
    const key = pool.derive(options)
    assert.equal(options.password.toString(), 'secret')
    options.password.fill(0)
    options.salt.fill(0)
    assert.equal(await hex(key), expected)
    await first
  })

  test('wipes its copies of the password and the blocks of the lanes', async () => {
    const from = mock.method(Uint8Array, 'from')
    await poolOf({ workers: 2 }).derive(derivation({ salt: Buffer.alloc(32, 7) }))
    const copies = from.mock.calls.map(({ result }) => result!)
    assert.deepEqual(
      copies.map((copy) => copy.length),
      [2, 32],
    )
    for (const bytes of [...copies, assigned[0]!.assignment.blocks]) {
      assert.ok(bytes.every((byte) => byte === 0))
    }
  })

  test('wipes them even if the derivation fails', async () => {
    const from = mock.method(Uint8Array, 'from')
    const pool = poolOf({ workers: 2 })
    const outcomes = Promise.allSettled([1, 2].map(() => pool.derive(derivation(ofDefaultWallet))))
    await pool.close()
    await outcomes
    assert.equal(from.mock.calls.length, 4)
    const blocks = assigned.map(({ assignment }) => assignment.blocks)
    for (const bytes of [...from.mock.calls.map(({ result }) => result!), ...blocks]) {
      assert.ok(bytes.every((byte) => byte === 0))
    }
  })
})

suite('memory of the lanes', { skip: process.platform !== 'linux' }, () => {
  test('is wiped in the workers, although they are kept', async () => {
    const options = derivation({ password: Buffer.from('a password to look for') })
    const input = pbkdf2Sync(options.password, options.salt, 1, options.p * 128, 'sha256')
    const lastLane = input.subarray(-128)

    const romix = Romix.instantiate(Romix.compile())
    romix.mix({ blocks: Buffer.from(lastLane), n: options.n, r: 1, width: 1 })
    assert.ok(isInMemory(lastLane), 'the search finds a lane that was not wiped')
    romix.wipe()

    await poolOf({ workers: 1 }).derive(options)
    for (let tries = 0; tries < 100 && isInMemory(lastLane); tries++) await sleep(100)
    assert.ok(!isInMemory(lastLane))
  })
})

const pageBytes = 4096

/**
 * Reads memory of this process. Other threads and the allocator change mappings after the list was read, and the kernel
 * returns EIO or EFAULT for missing ones. A missing mapping reads as zeros.
 */
function readMapped(memory: number, target: Buffer, address: number): Buffer {
  try {
    return target.subarray(0, readSync(memory, target, 0, target.length, address))
  } catch (error) {
    if (!['EIO', 'EFAULT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
  target.fill(0)
  if (target.length > pageBytes) {
    for (let at = 0; at < target.length; at += pageBytes) {
      readMapped(memory, target.subarray(at, at + pageBytes), address + at)
    }
  }
  return target
}

/** Whether this process has the first half of a lane's input in memory, in the order that only lanes use. */
function isInMemory(lane: Buffer): boolean {
  const inOrder = (words: number[]) => Buffer.concat(words.map((word) => lane.subarray(word * 4, word * 4 + 4)))
  // In two pieces and one of them reversed. Otherwise, the search would find its own copy.
  const start = inOrder([0, 5, 10, 15])
  const rest = inOrder([4, 9, 14, 3]).reverse()
  const memory = openSync('/proc/self/mem', 'r')
  const chunk = Buffer.alloc(2 ** 20)
  try {
    for (const [, from, to] of readFileSync('/proc/self/maps', 'utf8').matchAll(/^(\w+)-(\w+) rw-p/gm)) {
      const end = Number.parseInt(to!, 16)
      for (let at = Number.parseInt(from!, 16); at < end; at += chunk.length - 64) {
        const held = readMapped(memory, chunk.subarray(0, Math.min(chunk.length, end - at)), at)
        for (let found = held.indexOf(start); found >= 0; found = held.indexOf(start, found + 1)) {
          if (
            held
              .subarray(found + 16, found + 32)
              .reverse()
              .equals(rest)
          )
            return true
        }
      }
    }
    return false
  } finally {
    chunk.fill(0)
    closeSync(memory)
  }
}

suite('workers', () => {
  test('that get no memory report it', async () => {
    const pool = poolOf({ workers: 1 })
    const doomed = pool.derive(derivation(ofDefaultWallet))
    const { worker } = assigned[0]!
    worker.emit('error', new RangeError('WebAssembly.Memory(): could not allocate memory'))
    await worker.terminate()
    await assert.rejects(doomed, { code: 'internal', message: /not enough memory to derive a key/ })
  })

  test('that die fail their derivation and are replaced', async () => {
    const pool = poolOf({ workers: 2 })
    const doomed = pool.derive(derivation(ofDefaultWallet))
    const waiting = pool.derive(derivation())
    const { worker, assignment } = assigned[0]!
    await worker.terminate()
    await assert.rejects(doomed, { code: 'internal' })
    assert.ok(Atomics.load(assignment.nextLane, 0) >= assignment.p, 'the other worker still finds lanes to mix')
    assert.equal(await hex(waiting), node(derivation()))
    await pool.derive(derivation())
    assert.equal(workersUsed().size, 3)
  })

  test('that fail report the reason', async () => {
    const pool = poolOf({ workers: 1 })
    await pool.derive(derivation())
    // Not an assignment: the worker throws on it, and never reaches the next one.
    assigned[0]!.worker.postMessage({ nextLane: 'broken' })
    const key = pool.derive(derivation())
    await assert.rejects(
      key,
      (error) => error instanceof KmdError && error.cause instanceof Error && error.cause.cause instanceof Error,
    )
  })

  test('that cannot start fail the derivation', async () => {
    const threads = createRequire(import.meta.url)('node:worker_threads') as { Worker: unknown }
    const original = threads.Worker
    const cause = new Error('no more threads')
    threads.Worker = class {
      constructor() {
        throw cause
      }
    }
    syncBuiltinESMExports()
    const pool = poolOf({ workers: 2 })
    try {
      await assert.rejects(
        pool.derive(derivation()),
        (error) => error instanceof KmdError && (error.cause as Error).cause === cause,
      )
    } finally {
      threads.Worker = original
      syncBuiltinESMExports()
    }
    assert.equal(await hex(pool.derive(derivation())), node(derivation()))
  })

  test('stop when idle for a while, and start again', async () => {
    const pool = poolOf({ workers: 2, idleMs: 50 })
    await pool.derive(derivation())
    const first = workersUsed()
    let exits = 0
    for (const worker of first) worker.once('exit', () => exits++)
    for (let waited = 0; exits < 2 && waited < 200; waited++) await sleep(25)
    assert.equal(exits, 2)
    assert.equal(await hex(pool.derive(derivation())), node(derivation()))
    assert.ok([...workersUsed()].some((worker) => !first.has(worker)))
  })

  test('are kept while there is work', async () => {
    const pool = poolOf({ workers: 1, idleMs: 1000 })
    for (let i = 0; i < 5; i++) {
      await pool.derive(derivation())
      await sleep(250)
    }
    await pool.derive(derivation(longer))
    assert.equal(workersUsed().size, 1)
  })

  test('keep the process alive while they derive, but no longer', () => {
    assert.deepEqual(runScript('console.log(await derive())'), [node(derivation())])
  })

  test('keep the process alive until they have stopped, even if they report in the meantime', () => {
    const script = `
      const workers = new Set()
      const { postMessage } = Worker.prototype
      Worker.prototype.postMessage = function (message) {
        workers.add(this)
        postMessage.call(this, message)
      }
      await derive()
      const closing = pool.close()
      for (const worker of workers) worker.emit('message', { lanes: 0 })
      await closing
      console.log('closed')`
    assert.deepEqual(runScript(script), ['closed'])
  })
})

/** Returns the output of a program that has a pool and may derive the key of `derivation()` with it. */
function runScript(script: string): string[] {
  const preamble = `
    import { Worker } from 'node:worker_threads'
    import { ScryptPool } from ${JSON.stringify(new URL('./ScryptPool.js', import.meta.url).href)}
    const pool = new ScryptPool({ workers: 2, idleMs: 600_000 })
    const derive = async () => {
      const options = { password: Buffer.from('pw'), salt: Buffer.alloc(32), ...${JSON.stringify(quick)}, keyLength: 32 }
      return (await pool.derive(options)).toString('hex')
    }`
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', `${preamble}\n${script}`], {
    timeout: 30_000,
  })
  assert.equal(child.stderr.toString(), '')
  assert.equal(child.status, 0)
  return child.stdout.toString().trim().split('\n')
}

suite('close', () => {
  test('rejects pending and later derivations, and stops the workers', async () => {
    const pool = poolOf({ workers: 2 })
    const pending = [1, 2, 3].map(() => pool.derive(derivation(ofDefaultWallet)))
    const refusals = pending.map((key) => assert.rejects(key, { code: 'stopping' }))
    await sleep(100)
    const exits = [...workersUsed()].map((worker) => new Promise((resolve) => worker.once('exit', resolve)))
    await pool.close()
    await Promise.all([...refusals, ...exits])
    await assert.rejects(pool.derive(derivation()), { code: 'stopping' })
    await assert.rejects(pool.derive(derivation({ n: 2 })), { code: 'stopping' })
  })

  test('may be called twice, and before any work', async () => {
    const pool = poolOf({})
    await pool.close()
    await pool.close()
  })
})
