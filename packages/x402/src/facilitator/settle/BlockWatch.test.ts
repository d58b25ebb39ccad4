import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Algod } from '@latchkey/algod'
import { FakeNode, type FakeResponse, missing, ok } from '../../../../algod/dist/FakeNode.test.helper.js'
import { alone } from '../../../../x402-wire/dist/payments.test.helper.js'
import { setUp } from '../setup.test.helper.js'
import { BlockWatch, RoundClock } from './BlockWatch.js'

const timeout = 60_000

/** A node whose blocks the test creates. */
class BlockNode extends FakeNode {
  readonly blocks = new Map<number, string[]>()
  readonly waiting = new Set<() => void>()

  constructor() {
    super()
    this.round = 10n
    this.on('GET wait', () => this.#wait())
    this.on('GET block', () => ok({ blockTxids: this.blocks.get(Number(this.round)) ?? [] }))
  }

  #wait(): Promise<FakeResponse> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.waiting.delete(done)
        resolve(ok({ 'last-round': Number(this.round) }))
      }
      this.waiting.add(done)
    })
  }

  /** Ends with its signal, like a real request. */
  readonly send = async (url: string, init: RequestInit): Promise<Response> => {
    const aborted = new Promise<never>((_, reject) => {
      init.signal!.addEventListener('abort', () => reject(init.signal!.reason))
    })
    return Promise.race([this.fetch(url, init), aborted])
  }

  make(...ids: string[]): void {
    this.round++
    this.blocks.set(Number(this.round), ids)
    for (const done of [...this.waiting]) done()
  }
}

async function until(holds: () => boolean): Promise<void> {
  for (let time = 0; time < 2_000 && !holds(); time++) await sleep(5)
  assert.ok(holds())
}

function open(t: TestContext) {
  const node = new BlockNode()
  const algod = new Algod({ nodes: [{ url: 'http://n' }], fetch: node.send })
  const clock = new RoundClock(algod, 250)
  const watch = new BlockWatch(algod, clock)
  const calls: [string, bigint | undefined][] = []
  const ends = new Map<string, () => void>()
  t.after(() => {
    for (const end of ends.values()) end()
  })
  const subscribe = (id: string): void => {
    const end = watch.subscribe(id, (round) => {
      calls.push([id, round])
      end()
    })
    ends.set(id, end)
  }
  return { node, watch, clock, calls, subscribe, ends }
}

test('requests one wait and one block for all waiting settlements', { timeout }, async (t) => {
  const { node, calls, subscribe, clock } = open(t)
  for (let index = 0; index < 50; index++) subscribe(`T${index}`)
  await until(() => node.waiting.size === 1)
  const before = node.requests.length
  node.make('T3', 'X', 'T7')
  await until(() => node.waiting.size === 1 && calls.length === 2)
  assert.deepEqual(calls, [
    ['T3', 11n],
    ['T7', 11n],
  ])
  assert.deepEqual(node.requests.slice(before), ['GET block', 'GET wait'])
  assert.equal(clock.seen, 11n)
})

test('calls a listener immediately if it subscribes just after its block was read', { timeout }, async (t) => {
  const { node, calls, subscribe, ends } = open(t)
  subscribe('OTHER')
  await until(() => node.waiting.size === 1)
  node.make('T1')
  await until(() => node.waiting.size === 1 && node.count('GET wait') === 2)
  subscribe('T1')
  await until(() => calls.length === 1)
  assert.deepEqual(calls, [['T1', 11n]])
  ends.get('OTHER')!()
})

test('finds the first transaction in the latest block', { timeout }, async (t) => {
  const { node, calls, subscribe } = open(t)
  node.blocks.set(10, ['T1'])
  subscribe('T1')
  await until(() => calls.length === 1)
  assert.deepEqual(calls, [['T1', 10n]])
})

test('requests nothing without listeners, and the last one to leave ends the wait', { timeout }, async (t) => {
  const { node, calls, subscribe, ends, watch } = open(t)
  subscribe('T1')
  await until(() => node.waiting.size === 1)
  ends.get('T1')!()
  await sleep(20)
  const before = node.requests.length
  await sleep(50)
  assert.equal(node.requests.length, before)
  assert.equal(watch.isAvailable, true, 'a wait that was not needed any more did not fail')
  subscribe('T2')
  await until(() => node.count('GET wait') === 2)
  node.make('T2')
  await until(() => calls.length === 1)
})

test('aborts an unneeded wait on the connection', { timeout }, async () => {
  const node = new BlockNode()
  let isAborted = false
  const algod = new Algod({
    nodes: [{ url: 'http://n' }],
    fetch: (url, init) => {
      const abort = (): void => {
        isAborted = true
      }
      if (url.includes('wait-for-block')) init.signal!.addEventListener('abort', abort)
      return node.fetch(url, init)
    },
  })
  const end = new BlockWatch(algod, new RoundClock(algod, 250)).subscribe('T1', () => {})
  await until(() => node.waiting.size === 1)
  end()
  await until(() => isAborted)
})

test('calls all listeners if no node supports waiting, and does not retry for a while', { timeout }, async (t) => {
  const { node, calls, subscribe, watch } = open(t)
  node.on('GET wait', () => missing)
  subscribe('T1')
  subscribe('T2')
  await until(() => calls.length === 2)
  assert.deepEqual(calls, [
    ['T1', undefined],
    ['T2', undefined],
  ])
  assert.equal(watch.isAvailable, false)
  subscribe('T3')
  await sleep(30)
  assert.equal(node.count('GET wait'), 1)
})

test('calls all listeners after a block that cannot be read', { timeout }, async (t) => {
  const { node, calls, subscribe, watch } = open(t)
  subscribe('T1')
  await until(() => node.waiting.size === 1)
  node.on('GET block', () => missing)
  node.make('T1')
  await until(() => calls.length === 1)
  assert.deepEqual([calls, watch.isAvailable], [[['T1', undefined]], true])
})

test('reads many quick blocks together', { timeout }, async (t) => {
  const { node, subscribe, ends } = open(t)
  subscribe('T1')
  await until(() => node.waiting.size === 1)
  for (let block = 0; block < 2_000; block++) {
    node.make()
    if (block % 100 === 0) await sleep(1)
  }
  await until(() => node.waiting.size === 1)
  assert.ok(node.count('GET block') < 100, `${node.count('GET block')} blocks were read`)
  ends.get('T1')!()
})

test('a settlement is answered by its block, without its own lookup', { timeout }, async (t) => {
  const { payload, requirements, id } = alone()
  const { facilitator, node } = await setUp(t, { settleTimeoutMs: 30_000, pollMs: 60_000 })
  node.confirmedRound = undefined
  let make!: () => void
  const made = new Promise<void>((resolve) => {
    make = resolve
  })
  let ids: string[] = []
  node.on('GET wait', async () => {
    await made
    return ok({ 'last-round': 101 })
  })
  node.on('GET block', () => ok({ blockTxids: ids }))
  const settling = facilitator.settle(payload, requirements)
  await until(() => node.count('GET wait') === 1)
  const before = node.count('GET pending')
  ids = [id]
  make()
  const { success, transaction } = await settling
  assert.deepEqual([success, transaction, node.count('GET pending') - before], [true, id, 0])
})
