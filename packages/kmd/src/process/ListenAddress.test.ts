import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StartError } from '../errors.js'
import * as ListenAddress from './ListenAddress.js'

const addresses: [written: string, host: string, port: number, isLoopback: boolean][] = [
  ['127.0.0.1:7833', '127.0.0.1', 7833, true],
  ['127.9.9.9:1', '127.9.9.9', 1, true],
  [':7833', '127.0.0.1', 7833, true],
  ['localhost:0', '127.0.0.1', 0, true],
  ['LOCALHOST:80', '127.0.0.1', 80, true],
  ['[::1]:65535', '::1', 65535, true],
  ['0.0.0.0:7833', '::', 7833, false],
  ['[::]:7833', '::', 7833, false],
  ['192.168.1.2:7833', '192.168.1.2', 7833, false],
  ['keys.example:00080', 'keys.example', 80, false],
]
for (const [written, host, port, isLoopback] of addresses) {
  test(`${written} is ${host}, port ${port}`, () => {
    assert.deepEqual(ListenAddress.parse(written), { host, port, isLoopback })
  })
}

const faults: [written: string, fault: RegExp][] = [
  ['', /missing port in address$/],
  ['localhost', /missing port in address$/],
  ['[::1]', /missing port in address$/],
  ['localhost:', /bad host or port$/],
  ['localhost:http', /bad host or port$/],
  ['localhost:-1', /bad host or port$/],
  ['localhost: 80', /bad host or port$/],
  ['::1:80', /bad host or port$/],
  ['localhost:123456', /bad host or port$/],
  ['localhost:65536', /invalid port$/],
  ['http://localhost:80', /bad host or port$/],
]
for (const [written, fault] of faults) {
  test(`${JSON.stringify(written)} is rejected`, () => {
    assert.throws(
      () => ListenAddress.parse(written),
      (error) =>
        error instanceof StartError &&
        error.code === 'invalid_address' &&
        fault.test(error.message) &&
        error.message.includes(written),
    )
  })
}

test('kmd.net has IPv6 in brackets', () => {
  assert.equal(ListenAddress.format('127.0.0.1', 7833), '127.0.0.1:7833')
  assert.equal(ListenAddress.format('::1', 80), '[::1]:80')
})

test('programs on this machine reach a wildcard address over the loopback interface', () => {
  assert.equal(ListenAddress.reachable('0.0.0.0:7833'), '127.0.0.1:7833')
  assert.equal(ListenAddress.reachable('[::]:7833'), '127.0.0.1:7833')
  for (const address of ['127.0.0.1:7833', '[::1]:7833', '192.168.0.1:1', '10.0.0.0:80']) {
    assert.equal(ListenAddress.reachable(address), address)
  }
})
