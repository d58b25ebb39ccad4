import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RequestArguments, readRequest } from './GuardedFetch.js'
import { receiveBody } from './Purchase.js'
import { url as urlSchema } from './tools/schemas.js'
import { plainText, untrustedBlock } from './untrusted.js'

test('invisible characters are replaced, and no character is split', () => {
  assert.equal(
    plainText('a\r\nb\tc\x1b[0m\u200bd\u202e\u2066\ufeff\u0085\u{e0061}', 100),
    'a\nb\tc\ufffd[0m\ufffdd\ufffd\ufffd\ufffd\ufffd\ufffd',
  )
  for (const hidden of ['\u034f', '\u115f', '\u3164', '\ufe0f', '\u{e0100}', '\u2800']) {
    assert.equal(plainText(`a${hidden}b`, 100), 'a\ufffdb', hidden.codePointAt(0)!.toString(16))
  }
  assert.equal(plainText('ab😀', 3), 'ab')
  assert.equal(plainText('ab😀é', 4), 'ab😀')
})

test('the boundary differs each time', () => {
  const [a, b] = [untrustedBlock('A', 'x').text, untrustedBlock('A', 'x').text]
  assert.notEqual(a, b)
  assert.match(a, /^A\. Untrusted content: .*"(untrusted-[0-9a-f]{24})"\.\n\1\nx\n\1$/)
})

test('a body is read up to its limit', async () => {
  const limits = { maxBytes: 10, maxLength: 4 }
  let isCanceled = false
  let sent = 0
  const endless = new ReadableStream({
    pull: (controller) => {
      sent++
      controller.enqueue(new TextEncoder().encode('abcdef'))
    },
    cancel: () => {
      isCanceled = true
    },
  })
  const cut = await receiveBody(new Response(endless, { headers: { 'Content-Type': 'text/html; charset=x' } }), limits)
  assert.deepEqual(cut, { text: 'abcd', type: 'text/html', bytes: 12, isCut: true })
  assert.ok(isCanceled && sent < 5)
  assert.deepEqual(await receiveBody(new Response(null), limits), { text: '', type: '', bytes: 0, isCut: false })
  const binary = await receiveBody(new Response(new Uint8Array([0xff, 0xfe])), limits)
  assert.deepEqual([binary.text, binary.bytes, binary.isCut], [undefined, 2, false])
  // Two bytes of a three-byte character.
  const half = await receiveBody(new Response('aaaaaaaa€'), { maxBytes: 10, maxLength: 100 })
  assert.deepEqual([half.text, half.isCut], ['aaaaaaaa', true])
})

test('requests are bounded and normalized', () => {
  const url = 'https://shop.example/a#b'
  const request = readRequest({ url, headers: { Accept: 'x', 'A-b': 'y' } })
  assert.deepEqual([request.url, request.method], ['https://shop.example/a', 'GET'])
  assert.deepEqual(request.headers, [
    ['a-b', 'y'],
    ['accept', 'x'],
  ])
  assert.equal(
    request.key,
    readRequest({ url: 'https://SHOP.example:443/a', headers: { 'a-B': 'y', accept: 'x' } }).key,
  )
  assert.notEqual(request.key, readRequest({ url }).key)
  const wrong: [RequestArguments, string][] = [
    [{ url: `https://shop.example/${'a'.repeat(2_100)}` }, 'invalid_url'],
    [{ url: `https://shop.example/${'ü'.repeat(1_000)}` }, 'invalid_url'],
    [{ url, body: 'x' }, 'invalid_request'],
    [{ url, method: 'POST', body: 'x'.repeat(262_145) }, 'invalid_request'],
    [{ url, headers: { 'X-A': 'a\nb' } }, 'invalid_request'],
    [{ url, headers: { 'X-A': 'x'.repeat(5_000) } }, 'invalid_request'],
    [{ url, headers: { '': 'x' } }, 'invalid_request'],
    [
      { url, headers: Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`x-${index}`, 'x'])) },
      'invalid_request',
    ],
  ]
  for (const [given, code] of wrong)
    assert.throws(() => readRequest(given), { code }, JSON.stringify(given).slice(0, 80))
})

test('a wrong URL is told that http is allowed too, as the description of the parameter says', () => {
  for (const url of ['ftp://shop.example/a', 'shop.example/a', 'about:blank']) {
    assert.throws(() => readRequest({ url }), { code: 'invalid_url', message: /absolute http or https URL$/ }, url)
  }
  assert.equal(readRequest({ url: 'http://shop.example/a' }).url, 'http://shop.example/a')
  assert.match(String((urlSchema as { description: string }).description), /https, or http where the owner/)
})
