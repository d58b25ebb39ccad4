import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
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

function watch(response: Response, signal?: AbortSignal): { watched: Response; events: unknown[] } {
  const events: unknown[] = []
  const onEnd = (): void => void events.push('end')
  const onError = (error: unknown): unknown => {
    events.push(error)
    return error
  }
  return { watched: watchBody(response, { signal, onEnd, onError }), events }
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

test('a body that is aborted after its last bytes arrived, and before they are read, fails', async (t) => {
  await t.test('with the reason of the signal', { timeout }, async (t) => {
    const controller = new AbortController()
    const { signal } = controller
    const { watched, events } = watch(await fetch(await slowShop(t), { signal }), signal)
    const reader = watched.body!.getReader()
    assert.equal(Buffer.from((await reader.read()).value!).toString(), 'sun')
    await sleep(arrivalMs)
    controller.abort(new Error('enough'))
    await assert.rejects(reader.read(), { message: 'enough' })
    assert.equal(events.length, 1)
  })

  await t.test('if a custom fetch has its own time limit', { timeout }, async (t) => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const open = async ({ signal }: AbortController) => fetch(await slowShop(t), { signal })
    const before = new AbortController()
    const canceled = await open(before)
    await sleep(arrivalMs)
    before.abort(new Error('too slow'))
    // Node 20 names no reason.
    await assert.rejects(watch(canceled).watched.text(), Error)

    const later = new AbortController()
    const reader = watch(await open(later)).watched.body!.getReader()
    await sleep(arrivalMs)
    for (let count = 0; count < 3; count++) collect()
    later.abort(new Error('too slow'))
    await assert.rejects(reader.read(), Error)
  })

  await t.test('if the signal is aborted while a custom fetch that ignores it is silent', { timeout }, async () => {
    const controller = new AbortController()
    let isCanceled = false
    const cancel = (): void => {
      isCanceled = true
    }
    const { watched } = watch(new Response(new ReadableStream({ cancel })), controller.signal)
    const read = watched.text()
    controller.abort(new Error('enough'))
    await assert.rejects(read, { message: 'enough' })
    assert.equal(isCanceled, true)
  })
})

/** Longer than the server takes for the rest of its body. */
const arrivalMs = 200

/** Returns the URL of a server whose body arrives after its head. */
async function slowShop(t: TestContext): Promise<string> {
  const answer = async (response: ServerResponse): Promise<void> => {
    response.writeHead(200).write('sun')
    await sleep(20)
    response.end('ny')
  }
  const server = createServer((_, response) => void answer(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}
