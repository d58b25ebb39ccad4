import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeadParser } from './RequestHead.js'

const head = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`
const parse = (parser: HeadParser, text: string) => parser.parse(Buffer.from(text), text.indexOf('\r\n\r\n'))
const repeatedLength = (parser: HeadParser, text: string) => parser.repeatedLength(Buffer.from(text))

test('a head is recognized by its bytes once it was sent twice', () => {
  const parser = new HeadParser()
  const first = parse(parser, head('/one'))
  assert.equal(repeatedLength(parser, head('/one')), 0)
  assert.equal(parse(parser, head('/one')), first)
  assert.equal(repeatedLength(parser, `${head('/one')}and a body`), head('/one').length)
  assert.equal(parser.repeated, first)
})

test('another, partial or longer head is not taken for a repeated one', () => {
  const parser = new HeadParser()
  parse(parser, head('/one'))
  parse(parser, head('/one'))
  for (const other of ['', head('/one').slice(0, -1), head('/two'), head('/one').replace('Host: a', 'Host: a\r\nX: b')])
    assert.equal(repeatedLength(parser, other), 0, other)
  assert.equal(parse(parser, head('/two')).target, '/two')
  assert.equal(repeatedLength(parser, head('/one')), 0)
  assert.equal(repeatedLength(parser, head('/two')), 0)
})

test('a malformed head changes nothing, and wiping the input keeps the known head', () => {
  const parser = new HeadParser()
  const input = Buffer.from(head('/one'))
  for (let i = 0; i < 2; i++) parser.parse(input, input.length - 4)
  input.fill(0)
  assert.throws(() => parse(parser, 'malformed\r\n\r\n'))
  assert.equal(repeatedLength(parser, head('/one')), head('/one').length)
  assert.equal(parser.repeated.target, '/one')
})
