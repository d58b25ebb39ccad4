import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchBody } from './fetchedResponse.js'

const timeout = 30_000

function responseOf(...chunks: Uint8Array[]): Response {
  return new Response(
    new ReadableStream({
      start: (controller) => {
        for (const chunk of chunks) controller.enqueue(chunk)
        controller.close()
      },
    }),
  )
}

function watch(response: Response): { watched: Response; events: unknown[] } {
  const events: unknown[] = []
  const onEnd = (): void => void events.push('end')
  const onError = (error: unknown): unknown => {
    events.push(error)
    return error
  }
  return { watched: watchBody(response, { onEnd, onError }), events }
}

test('M a body of a custom fetch', async (t) => {
  const text = (value: string): Uint8Array => new TextEncoder().encode(value)

  await t.test('may have empty pieces', { timeout }, async () => {
    const { watched, events } = watch(responseOf(text(''), text('sun'), text(''), text('ny'), text('')))
    assert.equal(await watched.text(), 'sunny')
    assert.deepEqual(events, ['end'])
  })

  await t.test('may have pieces that share their memory', { timeout }, async () => {
    const memory = text('sunny, with rain')
    const { watched } = watch(responseOf(memory.subarray(0, 5), memory.subarray(5)))
    assert.equal(await watched.text(), 'sunny, with rain')
    assert.equal(memory.length, 16)
    // Node's own pool for small buffers. Without it the process cannot continue.
    const { watched: pooled } = watch(responseOf(Buffer.from('sun'), Buffer.from('ny')))
    assert.equal(await pooled.text(), 'sunny')
    assert.equal(Buffer.from('rain').toString(), 'rain')
  })

  await t.test('may also be read from a clone', { timeout }, async () => {
    const response = responseOf(text('sunny'))
    const copy = response.clone()
    assert.deepEqual([await watch(response).watched.text(), await copy.text()], ['sunny', 'sunny'])
  })
})
