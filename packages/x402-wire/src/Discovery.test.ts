import assert from 'node:assert/strict'
import test from 'node:test'
import { isValidIconUrl, sanitizeResourceServiceMetadata } from '@x402/extensions/bazaar'
import * as Discovery from './Discovery.js'

test('a service is cut to the members that the published package keeps', () => {
  const services: { [name: string]: unknown }[] = [
    { serviceName: 'Weather', tags: ['a', 'A', 'b', '', 'ä', 7, 'x'.repeat(33), 'c', 'd', 'e', 'f'] },
    { serviceName: '', tags: [], iconUrl: 'https://weather.example/icon.png' },
    { serviceName: 'x'.repeat(33), tags: 'a', iconUrl: 'ftp://weather.example/icon.png' },
    { serviceName: 'Wetter für alle', iconUrl: 'https://user@weather.example/icon.png' },
    {},
  ]
  for (const service of services) {
    assert.deepEqual(Discovery.validService(service), { ...sanitizeResourceServiceMetadata(service as never) })
  }
})

test('a picture is accepted only where the published package accepts it', () => {
  const refused = [
    'http://127.0.0.1/',
    'http://[::1]/',
    'http://0x7f.1/',
    'http://LOCALHOST/',
    'http://2130706433/',
    '/icon',
  ]
  const urls = [
    ...refused,
    'https://weather.example/i.png',
    'http://sub.weather.example:8080/',
    'https://x\n.example/',
    'x',
  ]
  for (const iconUrl of urls) {
    assert.equal(Discovery.serviceProblem({ iconUrl }) === undefined, isValidIconUrl(iconUrl), iconUrl)
  }
})

test('finds references that leave a schema, at any depth', () => {
  assert.equal(Discovery.outsideReference({ a: [{ $ref: '#/$defs/x' }], $defs: { x: { $id: '#x' } } }), undefined)
  assert.equal(Discovery.outsideReference({ a: [{ b: { $ref: 'file:///etc/passwd' } }] }), 'file:///etc/passwd')
  assert.equal(Discovery.outsideReference({ $id: 'https://x.example' }), 'https://x.example')
})
