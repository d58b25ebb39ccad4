import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import * as Romix from './Romix.js'

const module = Romix.compile()

suite('ROMix', () => {
  test('produces the output of RFC 7914 section 10', () => {
    const blocks = Buffer.from(
      'f7ce0b653d2d72a4108cf5abe912ffdd777616dbbb27a70e8204f3ae2d0f6fad' +
        '89f68f4811d1e87bcc3bd7400a9ffd29094f0184639574f39ae5a1315217bcd7' +
        '894991447213bb226c25b54da86370fbcd984380374666bb8ffcb5bf40c254b0' +
        '67d27c51ce4ad5fed829c90b505a571b7f4d1cad6a523cda770e67bceaaf7e89',
      'hex',
    )
    Romix.instantiate(module).mix({ blocks, n: 16, r: 1, width: 1 })
    assert.equal(
      blocks.toString('hex'),
      '79ccc193629debca047f0b70604bf6b62ce3dd4a9626e355fafc6198e6ea2b46' +
        'd58413673b99b029d665c357601fb426a0b2f4bba200ee9f0a43d19b571a9c71' +
        'ef1142e65d5a266fddca832ce59faa7cac0b9cf1be2bffca300d01ee387619c4' +
        'ae12fd4438f203a0e4e1c47ec314861f4e9087cb33396a6873e8f9d2539a4b8e',
    )
  })

  // Node's scrypt rejects n = 65536 with r = 1, so the most common size needs another reference.
  for (const { n, widths } of [
    { n: 65536, widths: [1, 2] },
    { n: 8192, widths: [3, 4] },
  ]) {
    test(`agrees with a plain implementation on n = ${n}, r = 1, with ${widths.join(' and ')} lanes at a time`, () => {
      const input = randomBytes(Math.max(...widths) * 128)
      const expected = plainRomixOfLanes(input, n)
      for (const width of widths) {
        const blocks = Buffer.from(input.subarray(0, width * 128))
        Romix.instantiate(module).mix({ blocks, n, r: 1, width })
        assert.equal(blocks.toString('hex'), expected.subarray(0, width * 128).toString('hex'), `width ${width}`)
      }
    })
  }

  test('produces the same output regardless of earlier memory content and of the number of interleaved lanes', () => {
    const input = randomBytes(7 * 128)
    const expected = plainRomixOfLanes(input, 512)
    const romix = Romix.instantiate(module)
    for (const width of [4, 1, 3, 2, 9]) {
      const blocks = Buffer.from(input)
      romix.mix({ blocks, n: 512, r: 1, width })
      assert.equal(blocks.toString('hex'), expected.toString('hex'), `width ${width}`)
      romix.mix({ blocks: randomBytes(3 * 128 * 5), n: 128, r: 5, width })
    }
  })

  test('leaves nothing in memory once wiped', () => {
    const memories = watchMemories()
    try {
      const romix = Romix.instantiate(module)
      romix.mix({ blocks: randomBytes(128 * 4096), n: 2, r: 4096, width: 1 })
      romix.mix({ blocks: randomBytes(4 * 128), n: 1024, r: 1, width: 4 })
      romix.mix({ blocks: randomBytes(128), n: 16, r: 1, width: 1 })
      assert.equal(memories.watched.length, 1)
      const bytes = Buffer.from(memories.watched[0]!.buffer)
      assert.ok(bytes.some((byte) => byte !== 0))
      romix.wipe()
      assert.ok(bytes.every((byte) => byte === 0))
    } finally {
      memories.stop()
    }
  })
})

function plainRomixOfLanes(input: Uint8Array, n: number): Buffer {
  const lanes = Array.from({ length: input.length / 128 }, (_, lane) => input.subarray(lane * 128, (lane + 1) * 128))
  return Buffer.concat(lanes.map((lane) => plainRomix(lane, n)))
}

/** ROMix for r = 1, implemented only from RFC 7914 sections 3 to 5. */
function plainRomix(input: Uint8Array, n: number): Buffer {
  const x = new Uint32Array(Uint8Array.from(input).buffer)
  const v: Uint32Array[] = []
  for (let i = 0; i < n; i++) {
    v.push(x.slice())
    plainBlockMix(x)
  }
  for (let i = 0; i < n; i++) {
    const other = v[x[16]! & (n - 1)]!
    for (let k = 0; k < 32; k++) x[k]! ^= other[k]!
    plainBlockMix(x)
  }
  return Buffer.from(x.buffer)
}

function plainBlockMix(x: Uint32Array): void {
  for (const [at, other] of [
    [0, 16],
    [16, 0],
  ] as const) {
    for (let k = 0; k < 16; k++) x[at + k]! ^= x[other + k]!
    plainSalsa(x.subarray(at, at + 16))
  }
}

const quarterRounds = [
  [0, 4, 8, 12],
  [5, 9, 13, 1],
  [10, 14, 2, 6],
  [15, 3, 7, 11],
  [0, 1, 2, 3],
  [5, 6, 7, 4],
  [10, 11, 8, 9],
  [15, 12, 13, 14],
] as const

function plainSalsa(block: Uint32Array): void {
  // Not `from`, which takes most of the time: it iterates.
  const x = new Int32Array(block)
  const step = (to: number, i: number, j: number, bits: number) => {
    const sum = (x[i]! + x[j]!) | 0
    x[to]! ^= (sum << bits) | (sum >>> (32 - bits))
  }
  for (let doubleRound = 0; doubleRound < 4; doubleRound++) {
    for (const [a, b, c, d] of quarterRounds) {
      step(b, a, d, 7)
      step(c, b, a, 9)
      step(d, c, b, 13)
      step(a, d, c, 18)
    }
  }
  for (let k = 0; k < 16; k++) block[k]! += x[k]!
}

type Memory = { buffer: ArrayBuffer; grow: (pages: number) => number }

/** Collects the WebAssembly memories that grow. */
function watchMemories(): { watched: Memory[]; stop: () => void } {
  const { prototype } = (globalThis as unknown as { WebAssembly: { Memory: { prototype: Memory } } }).WebAssembly.Memory
  const { grow } = prototype
  const watched: Memory[] = []
  prototype.grow = function (this: Memory, pages: number) {
    if (!watched.includes(this)) watched.push(this)
    return grow.call(this, pages)
  }
  return {
    watched,
    stop: () => {
      prototype.grow = grow
    },
  }
}
