import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Admission } from '../exchange/Admission.js'
import { paidResponse } from './paidResponse.js'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

test('what a handler sent of a response by usage, after it saw that its client had left, is no answer to repeat', async () => {
  for (const leaves of ['cancels the body', 'aborts the request', 'stays']) {
    const client = new AbortController()
    const log: string[] = []
    let onSettled = (): void => {}
    const settled = new Promise<void>((resolve) => {
      onSettled = resolve
    })
    const admission = {
      isStreamed: true,
      isMetered: true,
      headers: [],
      settle: async (held: { body: Uint8Array } | undefined) => {
        log.push(held === undefined ? 'without a copy' : new TextDecoder().decode(held.body))
        onSettled()
        return { headers: [] }
      },
      cancel: async () => {
        log.push('cancel')
        onSettled()
      },
      disconnected: async () => {},
      undelivered: async () => {},
    } as unknown as Admission
    let source!: ReadableStreamDefaultController<Uint8Array>
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        source = controller
      },
    })
    const response = await paidResponse(admission, new Response(body), {
      maxBytes: 1_000,
      outerHeaders: new Headers(),
      signal: client.signal,
      givenUp: new AbortController(),
      direct: undefined,
      bindings: undefined,
      method: 'GET',
    })
    const reader = response.body!.getReader()
    source.enqueue(bytes('a part'))
    assert.equal(new TextDecoder().decode((await reader.read()).value), 'a part')
    if (leaves === 'aborts the request') client.abort()
    if (leaves === 'cancels the body') await reader.cancel()
    else {
      source.close()
      await reader.read()
    }
    await settled
    assert.deepEqual(log, [leaves === 'stays' ? 'a part' : 'without a copy'], leaves)
  }
})
