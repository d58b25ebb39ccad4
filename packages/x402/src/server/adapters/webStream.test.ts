import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxCopyBytes } from './StreamCopy.js'
import { webStream } from './webStream.js'

/** A source whose pieces the test creates, and a log of its stream's events. */
function open(onLeave: () => Promise<void> = () => new Promise(() => {})) {
  const log: string[] = []
  let controller!: ReadableStreamDefaultController<Uint8Array>
  const source = new ReadableStream<Uint8Array>({
    start: (own) => {
      controller = own
    },
    cancel: () => void log.push('canceled'),
  })
  let onOver = (): void => {}
  const over = new Promise<void>((resolve) => {
    onOver = resolve
  })
  const report = (text: string): void => {
    log.push(text)
    onOver()
  }
  const stream = webStream(source, {
    onEnd: (copy, bytes, { wasUnread }) => {
      const held = copy === undefined ? 'without a copy' : textOf(copy)
      report(`end ${held} ${bytes}${wasUnread ? ' unread' : ''}`)
    },
    onFailure: (isGone) => report(`failure ${isGone}`),
    onLeave,
  })
  const write = (text: string): void => controller.enqueue(new TextEncoder().encode(text))
  return {
    ...stream,
    log,
    over,
    write,
    end: () => controller.close(),
    fail: () => controller.error(new Error('broken')),
  }
}

function textOf(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes)
}

test('streams pieces and copies the whole body', async () => {
  const { body, log, write, end } = open()
  const reader = body.getReader()
  write('a')
  assert.equal(textOf((await reader.read()).value), 'a')
  write('b')
  assert.equal(textOf((await reader.read()).value), 'b')
  assert.deepEqual(log, [])
  end()
  assert.equal((await reader.read()).done, true)
  assert.deepEqual(log, ['end ab 2'])
})

test('reads the rest after the client has left, including a piece that was already requested', async () => {
  const { body, log, over, write, end } = open()
  const reader = body.getReader()
  write('a')
  await reader.read()
  const next = reader.read()
  await reader.cancel()
  assert.equal((await next).done, true)
  write('b')
  write('c')
  end()
  await over
  assert.deepEqual(log, ['end abc 3'])
})

test('a failing source breaks the body, before and after the client has left', async () => {
  const sent = open()
  sent.fail()
  await assert.rejects(sent.body.getReader().read(), { message: 'broken' })
  assert.deepEqual(sent.log, ['failure false'])
  const left = open()
  left.leave()
  left.fail()
  await left.over
  assert.deepEqual(left.log, ['failure true'])
})

test('sends a body that is too long for a copy, and drops it after the client has left', async () => {
  const long = 'x'.repeat(maxCopyBytes)
  const sent = open()
  sent.write(long)
  sent.write('x')
  sent.end()
  assert.equal((await new Response(sent.body).text()).length, maxCopyBytes + 1)
  assert.deepEqual(sent.log, [`end without a copy ${maxCopyBytes + 1}`])
  for (const isLongBefore of [true, false]) {
    const left = open()
    const reader = left.body.getReader()
    left.write(long)
    await reader.read()
    if (isLongBefore) {
      left.write('x')
      await reader.read()
    }
    await reader.cancel()
    if (!isLongBefore) left.write('x')
    await left.over
    assert.deepEqual(left.log, ['canceled', 'failure true'])
  }
})

test('drops the rest when its time is up', async () => {
  let timeUp = (): void => {}
  const left = open(
    () =>
      new Promise((resolve) => {
        timeUp = resolve
      }),
  )
  left.leave()
  left.write('a')
  timeUp()
  await left.over
  assert.deepEqual(left.log, ['canceled', 'failure true'])
})

test('drain reads pieces that the host does not request', async () => {
  const { drain, log, over, write, end } = open()
  drain()
  write('a')
  end()
  await over
  assert.deepEqual(log, ['end a 1'])
})

test('a source that fails while its pieces are not read reports that, and one that fails otherwise does not', async () => {
  const stalled = open()
  const reader = stalled.body.getReader()
  stalled.write('a')
  await reader.read()
  stalled.write('b')
  stalled.fail()
  await stalled.over
  assert.deepEqual(stalled.log, ['failure true'])
  await assert.rejects(reader.read(), /broken/)

  const read = open()
  const other = read.body.getReader()
  read.write('a')
  await other.read()
  const pending = other.read()
  await new Promise((resolve) => setImmediate(resolve))
  read.fail()
  await assert.rejects(pending, /broken/)
  assert.deepEqual(read.log, ['failure false'])

  const atOnce = open()
  const third = atOnce.body.getReader()
  const first = third.read()
  await new Promise((resolve) => setImmediate(resolve))
  atOnce.write('a')
  atOnce.fail()
  await first
  await assert.rejects(third.read(), /broken/)
  assert.deepEqual(atOnce.log, ['failure false'])

  const unsent = open()
  unsent.fail()
  await assert.rejects(unsent.body.getReader().read(), /broken/)
  assert.deepEqual(unsent.log, ['failure false'])
})

test('a source that fails, or ends early, after its pieces were not read for long reports that', async () => {
  for (const how of ['fail', 'end'] as const) {
    const { body, log, over, write, ...source } = open()
    const reader = body.getReader()
    write('a')
    await reader.read()
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    // A source that copies from another service learns of its end when it is read again.
    const pending = reader.read()
    await new Promise((resolve) => setImmediate(resolve))
    source[how]()
    await Promise.allSettled([pending, over])
    assert.deepEqual(log, [how === 'end' ? 'end a 1 unread' : 'failure true'])
  }
})
