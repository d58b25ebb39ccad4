import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Program } from '@latchkey/algorand'
import { errorMessageOf, expectText, TestNode } from '../testing/TestNode.test.helper.js'

const source = '#pragma version 10\nint 1\nreturn\n'

test('compiles a program, with a source map if it is asked for', async () => {
  const node = new TestNode()
  const compiled = await node.post('/v2/teal/compile', source)
  const hash = Address.encode(Program.address(Uint8Array.of(10, 0x81, 1, 0x43)))
  assert.equal(expectText(compiled), `{"hash":"${hash}","result":"CoEBQw=="}\n`)
  const mapped = await node.post('/v2/teal/compile?sourcemap=true', source)
  const sourcemap = '{"version":3,"sources":["\\u003cbody\\u003e"],"names":[],"mappings":";AACA;;AACA"}'
  assert.equal(expectText(mapped), `{"hash":"${hash}","result":"CoEBQw==","sourcemap":${sourcemap}}\n`)
})

test('reports the errors of a source in the words of a node', async () => {
  const node = new TestNode()
  const response = await node.post('/v2/teal/compile', '#pragma version 10\nint\n')
  assert.equal(errorMessageOf(response), '1 error: 2:3: int expects 1 immediate argument\n')
  assert.match(
    errorMessageOf(await node.post('/v2/teal/compile?sourcemap=maybe', source)),
    /^Invalid format for parameter sourcemap/,
  )
})

test('disassembles a program', async () => {
  const node = new TestNode()
  const response = await node.post('/v2/teal/disassemble', Buffer.from('CoEBQw==', 'base64'))
  assert.deepEqual(response.json, { result: '#pragma version 10\npushint 1\nreturn\n' })
  assert.equal(errorMessageOf(await node.post('/v2/teal/disassemble', Uint8Array.of(10, 0xff))).length > 0, true)
  const empty = await node.post('/v2/teal/disassemble', Uint8Array.of(0x8e))
  assert.deepEqual([empty.status, empty.json], [200, { result: '// invalid version\n' }])
})

test('limits the size of a source', async () => {
  const node = new TestNode()
  const large = Buffer.alloc(512 * 1024 + 1, 0x20)
  assert.equal(errorMessageOf(await node.post('/v2/teal/compile', large)), 'http: request body too large')
})
