import assert from 'node:assert/strict'
import test from 'node:test'
import { price } from '../stubs.test.helper.js'
import { openShop, sendRaw } from './gateway.test.helper.js'
import { scannerFor, unreadable } from './methodInBody.js'
import { Upstream } from './Upstream.js'

const form = 'application/x-www-form-urlencoded'
const multipart = 'multipart/form-data; boundary=b'
const part = (disposition: string): string => `--b\r\n${disposition}\r\n\r\nDELETE\r\n--b--\r\n`

const refused: [type: string, body: string][] = [
  [form, '_method=DELETE'],
  [form, 'a=1&_method=DELETE&b=2'],
  [form, 'a=1;_method=DELETE'],
  [form, '_METHOD=delete'],
  [form, '%5fmethod=DELETE'],
  [form, '%5F%6D%65%74%68%6F%64=DELETE'],
  [form, '+_method=DELETE'],
  [form, `${'%20'.repeat(100)}_method=DELETE`],
  [form, '.method=DELETE'],
  [form, '[method=DELETE'],
  [form, '_method%00x=DELETE'],
  [form, `_method%00${'x'.repeat(100)}=DELETE`],
  [form, '_method[]=DELETE'],
  // Rack 2 and the parser of Express ignore brackets, `URLSearchParams` a question mark, decoders a byte order mark.
  [form, '[_method]=DELETE'],
  [form, '_method]=DELETE'],
  [form, 'a=1&%5D%5B_method%5D=DELETE'],
  [form, `${'['.repeat(200)}_method]=DELETE`],
  [form, `${'%5B'.repeat(37)}%5Fmethod${'%5D'.repeat(100)}=DELETE`],
  [form, '?_method=DELETE'],
  [form, '\xef\xbb\xbf_method=DELETE'],
  [form, '_\0m\0e\0t\0h\0o\0d\0=D\0E\0L\0E\0T\0E\0'],
  [`${form}; charset=utf-8`, '_method=DELETE'],
  [`APPLICATION/X-WWW-FORM-URLENCODED`, '_method=DELETE'],
  ['', '_method=DELETE'],
  ['multipart/form-data', '_method=DELETE'],
  ['multipart/form-data; boundary=""', '_method=DELETE'],
  [multipart, part('Content-Disposition: form-data; name="_method"')],
  [multipart, part('content-disposition:form-data;name=_method')],
  [multipart, part("Content-Disposition: form-data; name='_method'")],
  [multipart, part('Content-Disposition: form-data;\r\n name="_method"')],
  [multipart, part('Content-Disposition: form-data; name="\\_method"')],
  [multipart, part('Content-Disposition: form-data; name="%5Fmethod"')],
  [multipart, part('Content-Disposition: form-data; name=".method"')],
  [multipart, part("Content-Disposition: form-data; name*=utf-8''_method")],
  [multipart, part('Content-Disposition: form-data; name*0="_me"; name*1="thod"')],
  [multipart, part('Content-Disposition: form-data; name="=?utf-8?Q?=5Fmethod?="')],
  [multipart, part('Content-Type: text/plain\r\nContent-Disposition: form-data; name="_method"')],
  [multipart, part(`Content-Disposition: form-data; x="${'x'.repeat(5000)}"; name="_method"`)],
  [multipart, part('Content-Disposition: form-data; name="_method"').replaceAll('\r\n', '\n')],
  // Rack looks for the names of headers in the middle of lines, and in `Content-ID`.
  [multipart, part('X-A: Content-Disposition: form-data; name="_method"')],
  [multipart, part('Content-ID: _method')],
  [multipart, part('Content-Type: text/plain\r\nContent-Id:\r\n_method')],
  [multipart, part('Content-Disposition: form-data; name="[_method]"')],
  // PHP joins lines without a colon, and knows no line that ends with CR.
  [multipart, part('Content-Disposition: form-data;\r\nname="_method"')],
  [multipart, part('Content-Disposition: form-data;\rname="_method"; x=":"')],
  [multipart, part('Content-Disposition: form-data; name="_met\r\nhod"')],
  [multipart, part('Content-Disposition: form-data;\n\n name="_method"')],
  [multipart, part(`Content-Disposition: form-data; x="${'x'.repeat(249)}; name="_method"`)],
  ['application/json', '{"_method":"DELETE"}'],
  ['application/json', Buffer.from('{"_method":"DELETE"}', 'utf16le').toString('latin1')],
  ['application/json', ' { "a" : [ {"b":"}"} ] , "_method" \n: "DELETE"}'],
  ['application/json', '{"\\u005fmethod":"DELETE"}'],
  ['application/json', '{"\\_method":"DELETE"}'],
  ['application/json', '/* " */ {"_method":"DELETE"}'],
  ['application/json', '// "\n{"_method":"DELETE"}'],
  ['application/json', '{_method:"DELETE"}'],
  ['application/json', `{'_method':"DELETE"}`],
  [form, 'a=1&X-HTTP-Method-Override=DELETE'],
  [form, 'x-http%2Dmethod-override=DELETE'],
  [multipart, part('Content-Disposition: form-data; name="X-HTTP-Method-Override"')],
  ['application/csp-report', '{"_method":"DELETE"}'],
  ['application/vnd.api+json', '{"a":"\\"","_METHOD":"DELETE"}'],
]

const forwarded: [type: string, body: string][] = [
  [form, 'payment_method=card&method=DELETE&a=_method&b=%26_method%3DDELETE'],
  [form, 'http-method=a&max-http-method=a&x-method=a'],
  [form, `${'a'.repeat(200)}=1`],
  [form, `payment__method=a&shipping[method]=a&payment.method=a&${'a'.repeat(121)}_method=a`],
  [multipart, part('Content-Disposition: form-data; name="payment_method"')],
  [multipart, part(`Content-Disposition: form-data; name="${'a'.repeat(221)}_method"`)],
  [multipart, part(`Content-Disposition: form-data; name="${'a'.repeat(222)}_method"`)],
  [multipart, part('Content-Disposition: form-data; name="a.method"; filename="my_method.txt"; filename*=utf-8\'\'a')],
  [multipart, `${part('Content-Disposition: form-data; name="page"')}\r\n<input name="_method" value="delete">\r\n`],
  [
    'application/json',
    '{"payment_method":"x","method":"DELETE","a":"_method","b":{"_method":1},"c":"{\\"_method\\":1}"}',
  ],
  ['application/json', '["_method", {"_method": 1}]'],
  ['application/json', `{"a/b'c_d": [-1.5e+3, true, false, null, "/* _method */"]}`],
  ['application/json', `{"${'_method'.repeat(50)}":1}`],
  ['application/octet-stream', '_method=DELETE'],
  ['text/plain', '_method=DELETE'],
]

const requestOf = (type: string, method = 'POST'): never =>
  ({ method, headers: { ...(type === '' ? {} : { 'content-type': type }), 'content-length': '1' } }) as never

function isFound(type: string, body: string, size: number): boolean {
  const scan = scannerFor(requestOf(type))
  const bytes = Buffer.from(body, 'latin1')
  for (let start = 0; start < bytes.length; start += size) {
    if (scan?.(bytes.subarray(start, start + size)) === true) return true
  }
  return false
}

test('finds the member _method in every form, however the body is cut', () => {
  for (const size of [1, 7, 100_000]) {
    for (const [type, body] of refused) assert.equal(isFound(type, body, size), true, `${type} ${body} ${size}`)
    for (const [type, body] of forwarded) assert.equal(isFound(type, body, size), false, `${type} ${body} ${size}`)
  }
})

test('bodies are read with every method, because some programs replace any of them', () => {
  for (const method of ['PUT', 'PATCH', 'DELETE', 'GET']) assert.ok(scannerFor(requestOf(form, method)), method)
  assert.equal(scannerFor({ method: 'POST', headers: {} } as never), undefined)
})

test('the service never gets a body that names another method, in one piece or in chunks', async (t) => {
  const { port, seen } = await openShop(t, undefined, { free: ['/free'] })
  const post = async (type: string, body: string, isChunked: boolean): Promise<number> => {
    const typed = type === '' ? [] : [`Content-Type: ${type}`]
    const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`
    const sent = isChunked ? `${[...body].map((one) => `1\r\n${one}\r\n`).join('')}0\r\n\r\n` : body
    return (await sendRaw(port, ['POST /free HTTP/1.1', 'Host: x', ...typed, length], sent)).status
  }
  for (const isChunked of [false, true]) {
    for (const [type, body] of refused) assert.equal(await post(type, body, isChunked), 400, `${type} ${body}`)
  }
  // The service got the requests, but not the whole bodies.
  assert.equal(seen.length, 0)
  for (const [type, body] of forwarded) assert.equal(await post(type, body, true), 200, body)
  assert.deepEqual(
    seen.map(({ body }) => body),
    forwarded.map(([, body]) => body),
  )
})

test('a compressed form is refused before payment, and other compressed bodies are not', async (t) => {
  const gate = { routes: { 'POST /a': { accepts: price } } }
  const { port } = await openShop(t, undefined, { gate })
  const post = async (type: string, coding: string): Promise<number> => {
    const lines = [`Content-Type: ${type}`, `Content-Encoding: ${coding}`, 'Content-Length: 1']
    return (await sendRaw(port, ['POST /a HTTP/1.1', 'Host: x', ...lines], 'a')).status
  }
  assert.deepEqual(
    [await post(form, 'gzip'), await post('application/json', 'br'), await post(form, 'identity')],
    [415, 415, 402],
  )
  assert.equal(await post('application/x-protobuf', 'gzip'), 402)
})

test('a form or JSON in a charset that is not like ASCII is refused before payment', async (t) => {
  const gate = { routes: { 'POST /a': { accepts: price } } }
  const { port } = await openShop(t, undefined, { gate })
  const post = async (type: string): Promise<number> => {
    const lines = [`Content-Type: ${type}`, 'Content-Length: 1']
    return (await sendRaw(port, ['POST /a HTTP/1.1', 'Host: x', ...lines], 'a')).status
  }
  const charsets = ['utf-16', 'UTF-16LE', '"utf-32"', "'utf-7'", ' utf-7-imap', 'IBM037', 'iso-2022-jp', 'utf\\-16']
  for (const type of [form, multipart, 'application/json', 'application/vnd.api+json']) {
    for (const charset of charsets) assert.equal(await post(`${type}; charset=${charset}`), 415, charset)
    assert.equal(await post(`${type};charset=utf-8; CHARSET = "utf-16"`), 415)
    for (const charset of ['utf-8', '"UTF-8"', 'utf8', 'us-ascii', 'iso-8859-1', 'windows-1252', '']) {
      assert.equal(await post(`${type}; charset=${charset}`), 402, charset)
    }
  }
  assert.equal(await post('text/plain; charset=utf-16'), 402)
})

test('a long type is read once, not again from each word in it', () => {
  // In a time that grows with the square of the length, this would not end.
  const type = `application/json;${'charset '.repeat(500_000)}`
  const requestWith = (charset: string) => ({ headers: { 'content-type': `${type};charset =${charset}` } }) as never
  assert.equal(unreadable(requestWith('utf-8')), undefined)
  assert.equal(unreadable(requestWith('utf-16')), 'content_charset')
})

test('an operator whose service reads no method from bodies forwards them unread', async (t) => {
  const { port, seen } = await openShop(t, undefined, { free: ['/free'], methodInBody: 'forward' })
  const lines = [
    'POST /free HTTP/1.1',
    'Host: x',
    `Content-Type: ${form}`,
    'Content-Encoding: gzip',
    'Content-Length: 9',
  ]
  assert.equal((await sendRaw(port, lines, '_method=A')).status, 200)
  assert.equal(seen[0]?.body, '_method=A')
  assert.throws(() => new Upstream({ url: 'http://x', methodInBody: 'allow' as never }), /methodInBody/)
})

test('a long form is forwarded whole, and as fast as the service reads', async (t) => {
  const { url, seen } = await openShop(t, undefined, { free: ['/free'] })
  const body = `a=${'x'.repeat(3_000_000)}&b=1`
  const response = await fetch(`${url}/free`, { method: 'POST', body, headers: { 'Content-Type': form } })
  assert.equal(response.status, 200)
  assert.equal(seen[0]?.body, body)
})
