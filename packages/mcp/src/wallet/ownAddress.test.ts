import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { isOwnAddress } from './ownAddress.js'

const none = () => ({})

test('addresses of the interfaces of this machine are its own', async () => {
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  assert.ok(own.length > 0)
  for (const { address } of own) assert.ok(await isOwnAddress(address), address)
  assert.ok(await isOwnAddress('::ffff:127.0.0.1'))
})

test('the routing table identifies own addresses that no interface lists', async () => {
  assert.ok(await isOwnAddress('127.0.0.1', none))
})

test('addresses of other machines are not its own', async () => {
  for (const address of ['93.184.216.34', '2606:2800:220:1::1946']) assert.ok(!(await isOwnAddress(address)), address)
})
