/** The limits of a response that is charged after it was sent. */
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { UptoPayment } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import type { Sale } from '../store/Sales.js'
import { MemoryUsage, type UsageStore } from '../store/UsageStore.js'
import {
  defaultTimes,
  MeteredStream,
  type MeteredStreamOptions,
  type StreamTimes,
  workLeaseMs,
} from './MeteredStream.js'
import { Usage } from './Usage.js'
import { recoveryMs, retryMs } from './UsageRecovery.js'

const times: StreamTimes = { watchMs: 5, noteMs: 10, verifyMs: 10, silenceMs: 100, unstoredMs: 100 }
const refuseMs = 60_000

// The timers of a stream do not keep a process alive.
const alive = setInterval(() => {}, 1_000)
after(() => clearInterval(alive))

type Ledger = { round: bigint; isSilent: 'failing' | 'hanging' | undefined; isVoid: boolean | Error }

/** A stream that is valid until round 200, on a ledger whose round the test sets. */
async function opened({
  store = new MemoryUsage() as UsageStore,
  maxTimeoutSeconds = 60,
  silenceMs = times.silenceMs,
  noteMs = times.noteMs,
} = {}) {
  const ledger: Ledger = { round: 100n, isSilent: undefined, isVoid: false }
  const chain = {
    parameters: async () => {
      if (ledger.isSilent === 'failing') throw new Error('no node responds')
      if (ledger.isSilent === 'hanging') await new Promise(() => {})
      return { lastRound: ledger.round }
    },
  } as unknown as Chain
  const usage = new Usage({ asset: '7', decimals: 6, maxAmount: 500n, whenUnset: 'nothing', isStreamed: true })
  const errors: unknown[] = []
  let cuts = 0
  let onCut = (): void => {}
  const cut = new Promise<void>((resolve) => {
    onCut = resolve
  })
  const paid = {
    chain,
    usage,
    payload: { extensions: { large: 'x'.repeat(10_000) } },
    requirement: { maxTimeoutSeconds },
    claimant: 'gate',
    payment: { transactionId: 'upto-A', payer: 'P', firstValid: 0n, lastValid: 200n },
  } as unknown as MeteredStreamOptions['paid']
  const stream = await MeteredStream.begin({
    store,
    paid,
    sale: {} as Sale,
    isChargeable: async () => {
      if (ledger.isVoid instanceof Error) throw ledger.isVoid
      return !ledger.isVoid
    },
    onCut: () => {
      cuts++
      onCut()
    },
    onError: (error) => errors.push(error),
    times: { ...times, silenceMs, unstoredMs: silenceMs, noteMs },
  })
  usage.onChange = () => stream?.charged()
  return { stream, ledger, usage, store, errors, cut, cuts: () => cuts }
}

/** A store with some functions replaced. */
function through(memory: MemoryUsage, changes: Partial<UsageStore>): UsageStore {
  const names = ['isUnpaid', 'countUnpaid', 'begin', 'note', 'chargeOf', 'takeOver', 'giveBack'] as const
  const all = [...names, 'end', 'leaveUnpaid', 'takeAbandoned'] as const
  const bound = Object.fromEntries(all.map((name) => [name, (memory[name] as () => unknown).bind(memory)]))
  return { ...(bound as unknown as UsageStore), ...changes }
}

test('a stream continues while its authorization can be charged, and its charge is stored', async () => {
  // A slow machine is silent for longer than the other tests wait.
  const { stream, ledger, usage, store, cuts } = await opened({ silenceMs: 60_000 })
  assert.equal(await store.chargeOf('upto-A'), 0n, 'stored before the handler runs')
  stream!.watch()
  usage.charge({ asset: '7', amount: '30' })
  ledger.round = 176n
  while ((await store.chargeOf('upto-A')) !== 30n) await sleep(5)
  await sleep(50)
  assert.deepEqual([stream!.cut.aborted, cuts()], [false, 0])
  await stream!.finish(40n)
  assert.equal(await store.chargeOf('upto-A'), 40n)
  ledger.round = 300n
  await sleep(50)
  assert.equal(cuts(), 0, 'nothing is watched after the end')
})

test('a stream is cut when its authorization can no longer be charged, but not while that is unknown', async () => {
  const { stream, ledger, cut, cuts } = await opened()
  stream!.watch()
  ledger.isVoid = new Error('the facilitator does not respond')
  await sleep(50)
  assert.deepEqual([stream!.cut.aborted, cuts()], [false, 0])
  ledger.isVoid = true
  await cut
  assert.deepEqual([stream!.cut.aborted, cuts()], [true, 1])
})

test('a stream is cut when too few rounds are left to settle', async () => {
  const { stream, ledger, cut, cuts } = await opened()
  stream!.watch()
  ledger.round = 177n
  await cut
  assert.equal(stream!.cut.aborted, true)
  await sleep(50)
  assert.equal(cuts(), 1, 'once')
})

test('a stream is cut when its time is up', async () => {
  const { stream, cut } = await opened({ maxTimeoutSeconds: 0.1 })
  stream!.watch()
  await cut
  assert.equal(stream!.cut.aborted, true)
})

test('a stream is cut when no node responds', async () => {
  for (const isSilent of ['failing', 'hanging'] as const) {
    const { stream, ledger, cut } = await opened()
    ledger.isSilent = isSilent
    stream!.watch()
    await cut
    assert.equal(stream!.cut.aborted, true)
  }
})

test('a stream is cut when its charge cannot be stored', async () => {
  const memory = new MemoryUsage()
  let isFull = false
  const store: UsageStore = through(memory, {
    note: (...call) => {
      if (isFull) throw new Error('the disk is full')
      return memory.note(...call)
    },
  })
  const { stream, cut, errors } = await opened({ store })
  isFull = true
  stream!.watch()
  await cut
  assert.ok(errors.length > 0)
  await stream!.finish(5n)
  assert.equal(await store.chargeOf('upto-A'), 0n, 'the end of a stream does not depend on the store')
  assert.equal(stream!.isOwn, false, 'another gate may settle what was stored')
})

test('a stream is cut when another stream of its payer has ended unpaid, and no other begins', async () => {
  const { stream, store, cut } = await opened()
  stream!.watch()
  await store.leaveUnpaid({ transactionId: 'upto-B', payer: 'P', refuseMs }, Date.now())
  await cut
  assert.equal((await opened({ store })).stream, undefined)
})

test('nothing is stored after the work was dropped', async () => {
  const memory = new MemoryUsage()
  let release = (): void => {}
  const slow: UsageStore = through(memory, {
    note: async (...call: Parameters<MemoryUsage['note']>) => {
      await new Promise<void>((resolve) => {
        release = resolve
        if (!isSlow) resolve()
      })
      return memory.note(...call)
    },
  })
  let isSlow = false
  const { stream } = await opened({ store: slow })
  isSlow = true
  stream!.watch()
  await sleep(50)
  const dropped = stream!.drop()
  release()
  await dropped
  assert.equal(memory.chargeOf('upto-A'), undefined)
})

test('the first charge is stored at once, and not again with each later one', async () => {
  const memory = new MemoryUsage()
  let notes = 0
  const store = through(memory, {
    note: (...call) => {
      notes++
      return memory.note(...call)
    },
  })
  const { stream, usage } = await opened({ store, noteMs: 60_000 })
  stream!.watch()
  for (const amount of ['0', '30', '40']) {
    usage.charge({ asset: '7', amount })
    await sleep(10)
  }
  assert.deepEqual([memory.chargeOf('upto-A'), notes], [30n, 1])
  await stream!.finish(40n)
  assert.equal(memory.chargeOf('upto-A'), 40n)
})

test('a gate that was paused while another one took its work, or settled it, cuts the stream and stores nothing', async () => {
  for (const isSettled of [false, true]) {
    const memory = new MemoryUsage()
    const { stream, usage, cut } = await opened({ store: memory })
    usage.charge({ asset: '7', amount: '30' })
    await sleep(10)
    assert.equal(memory.takeAbandoned(1, 60_000, Date.now() + workLeaseMs + 1).length, 1)
    if (isSettled) memory.end('upto-A')
    stream!.watch()
    await cut
    await stream!.finish(40n)
    assert.deepEqual([stream!.isOwn, memory.chargeOf('upto-A')], [false, isSettled ? undefined : 30n])
    await stream!.giveBack()
    assert.equal(memory.chargeOf('upto-A'), isSettled ? undefined : 30n)
  }
})

test('the work of a stream that has ended is kept while it is settled, and then given back', async () => {
  const memory = new MemoryUsage()
  const { stream } = await opened({ store: memory })
  const takenAt = (ms: number) => memory.takeAbandoned(1, 1, Date.now() + ms).length
  await stream!.finish(40n)
  assert.equal(stream!.isOwn, true)
  const untilMs = Date.now() + workLeaseMs
  await sleep(100)
  assert.equal(takenAt(untilMs - Date.now() + 20), 0, 'the lease was renewed')
  await stream!.giveBack()
  assert.equal(takenAt(1), 1)
})

test('work of a gate that ended is settled several times before its authorization can expire', () => {
  const firstTryMs = workLeaseMs + recoveryMs
  assert.ok(firstTryMs + 2 * (retryMs + recoveryMs) < UptoPayment.settleSeconds * 1_000)
  assert.ok(
    defaultTimes.unstoredMs + defaultTimes.watchMs < workLeaseMs,
    'a stream that is not stored ends before its lease',
  )
})
