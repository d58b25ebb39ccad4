import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Slabs } from './Secret.js'

const zeros = (length: number): Buffer => Buffer.alloc(length)

test('a secret is zeroed memory of its length, not shared with any other secret', () => {
  const slabs = new Slabs()
  const lengths = [1, 32, 33, 64, 128, 500, 512, 513, 4096]
  const secrets = lengths.map((length) => slabs.allocate(length))
  assert.deepEqual(
    secrets.map((secret) => Buffer.from(secret)),
    lengths.map(zeros),
  )
  for (const [index, secret] of secrets.entries()) secret.fill(index + 1)
  for (const [index, secret] of secrets.entries()) assert.ok(secret.every((byte) => byte === index + 1))
  for (const secret of secrets) slabs.free(secret)
})

test('sixteen thousand handles fit into a few slabs', () => {
  const slabs = new Slabs()
  const secrets = Array.from({ length: 16_384 }, () => [slabs.allocate(128), slabs.allocate(64)]).flat()
  assert.ok(slabs.size < 32, `${slabs.size} slabs`)
  const places = new Set(secrets.map((secret) => secret.byteOffset + (secret.buffer.byteLength << 8)))
  assert.ok(places.size > 1)
  for (const [index, secret] of secrets.entries()) secret.writeUInt32LE(index)
  for (const [index, secret] of secrets.entries()) assert.equal(secret.readUInt32LE(), index)
  for (const secret of secrets) slabs.free(secret)
  assert.ok(slabs.size <= 2, `${slabs.size} slabs are left`)
})

test('freeing wipes the whole slot before it is used again', () => {
  const slabs = new Slabs()
  const neighbour = slabs.allocate(64).fill(1)
  const secret = slabs.allocate(64).fill(7)
  slabs.free(secret)
  assert.deepEqual(Buffer.from(secret), zeros(64))
  const next = slabs.allocate(40)
  assert.equal(next.byteOffset, secret.byteOffset)
  assert.deepEqual(Buffer.from(next), zeros(40))
  assert.ok(neighbour.every((byte) => byte === 1))
})

test('freeing twice is an error, and gives no slot to two secrets', () => {
  const slabs = new Slabs()
  const secret = slabs.allocate(64)
  slabs.free(secret)
  assert.throws(() => slabs.free(secret), /freed twice/)
  assert.notEqual(slabs.allocate(64).byteOffset, slabs.allocate(64).byteOffset)
})

test('an empty slab is returned to the system, except the last of its kind', () => {
  const slabs = new Slabs()
  const one = slabs.allocate(512)
  const perSlab = Math.floor(one.buffer.byteLength / 512)
  const rest = Array.from({ length: perSlab }, () => slabs.allocate(512))
  assert.equal(slabs.size, 2)
  for (const secret of [one, ...rest]) slabs.free(secret)
  assert.equal(slabs.size, 1)
  slabs.free(slabs.allocate(512))
  assert.equal(slabs.size, 1)
})

/** Uses up the process's mappings, then allocates protected memory until it is refused. */
const exhaust = (secretUrl: string, sodiumUrl: string): string => `
  const { sodium } = await import(${JSON.stringify(sodiumUrl)})
  const Secret = await import(${JSON.stringify(secretUrl)})
  const { readFileSync } = await import('node:fs')
  const most = Number(readFileSync('/proc/sys/vm/max_map_count', 'utf8'))
  const count = () => readFileSync('/proc/self/maps', 'latin1').split('\\n').length
  const blocks = []
  const room = () => most - 1500 - count()
  // A block takes at most four mappings; counting them all takes long.
  for (let left = room(); left > 0; left = room())
    for (let i = 0; i < Math.max(100, left / 4) && blocks.length < 20000; i++) blocks.push(sodium.sodium_malloc(64))
  try {
    for (let i = 0; i < 400; i++) blocks.push(Secret.allocate(600))
    console.log('not refused')
  } catch (error) {
    console.log(error.code, error.status)
  }
  Secret.free(Secret.allocate(64))
`

test('if the system has no more mappings, it is an error and the process survives', (t) => {
  const most = process.platform === 'linux' ? Number(readFileSync('/proc/sys/vm/max_map_count', 'utf8')) : 0
  if (most === 0 || most > 70_000)
    return t.skip('needs a vm.max_map_count that can be reached, as the default of Linux')
  const script = exhaust(new URL('./Secret.js', import.meta.url).href, import.meta.resolve('@latchkey/algorand/sodium'))
  const { stdout, stderr, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 120_000,
  })
  assert.deepEqual([signal, stdout.trim()], [null, 'no_secure_memory 503'], stderr)
})
