/** Random changes of recorded sources and programs, which both nodes assemble and disassemble. */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { NodePair } from './NodePair.test.helper.js'
import type { Random } from './Random.test.helper.js'

const samples = new URL('../../../../packages/avm/src/testdata/', import.meta.url)
const tables = JSON.parse(readFileSync(new URL('opcodes.json', samples), 'utf8')) as {
  readonly ops: readonly { readonly name: string }[]
  readonly groups: { readonly [name: string]: { readonly fields: readonly { readonly name: string }[] } }
}
const names = [...tables.ops.map(({ name }) => name), 'int', 'byte', 'addr', 'method', '#pragma', '#define']
const fields = Object.values(tables.groups).flatMap((group) => group.fields.map(({ name }) => name))
const maxSourceLength = 3000
const concurrency = 4

/** Characters that end, begin or break a token. */
const characters = [
  '\u00e9',
  '\u{1f600}',
  '\ufeff',
  '\u00a0',
  '\0',
  '\x7f',
  '\x85',
  '\r',
  '\t',
  ' ',
  '\n',
  ';',
  ':',
  '"',
]
const fragments = [
  ...characters,
  '\\',
  "'",
  '(',
  ')',
  '//',
  '/',
  '=',
  '_',
  '-',
  '+',
  '.',
  '0',
  'x',
  '#',
  'b64(',
  '\\x4',
]
const numbers = ['0_', '_0', '0x_1', '1__0', '0_7', '08', '-0', '+1', '1e3', '1.0', '0xg', '0b2', '0o8', '0x', '256']
const largeNumbers = ['18446744073709551616', '18446744073709551615', '0xffffffffffffffffff', '-128', '-129', '128']
const words = [...numbers, ...largeNumbers, "''", '""', 'pay', 'Payment', 'NoOp', '\u0663', 'true', 'T', 'f(uint8)void']

function readSources(): string[] {
  const lines = gunzipSync(readFileSync(new URL('assemble.jsonl.gz', samples)))
    .toString()
    .trim()
    .split('\n')
  return lines.map((line) => (JSON.parse(line) as { src: string }).src).filter(({ length }) => length < maxSourceLength)
}

class Sources {
  readonly #random: Random
  readonly #recorded = readSources()
  readonly #tokens: readonly string[]

  constructor(random: Random) {
    this.#random = random
    const tokens = this.#recorded.slice(0, 2000).flatMap((source) => source.split(/[ \t\n;]+/))
    this.#tokens = [...new Set(tokens)].filter(({ length }) => length < 70)
  }

  next(): string {
    const random = this.#random
    if (random.chance(0.3)) return this.#written()
    let source = random.pick(this.#recorded)
    for (let count = random.between(1, 4); count > 0; count--) source = this.#changed(source)
    return source
  }

  #written(): string {
    const random = this.#random
    const version = `#pragma version ${random.chance(0.5) ? 13 : random.below(16)}`
    const lines = Array.from({ length: random.between(1, 12) }, () => this.#line())
    return [random.chance(0.9) ? version : '', random.chance(0.3) ? '#pragma typetrack false' : '', ...lines].join('\n')
  }

  #number(): string {
    const random = this.#random
    const value = random.uint64()
    const encoding = random.pick(['b64', 'base64', 'b32', 'base32'])
    const text = Buffer.from(random.bytes(random.below(7))).toString('base64')
    return random.pick([
      value.toString(),
      `0x${value.toString(16)}`,
      `0b${value.toString(2)}`,
      `0${value.toString(8)}`,
      `0x${Buffer.from(random.bytes(random.below(6))).toString('hex')}${random.pick(['', '0', 'g', '_'])}`,
      `"${random.pick(this.#tokens)}${random.pick(fragments)}"`,
      `${encoding}${random.pick([' ', '('])}${text}${random.pick(['', ')', ')x'])}`,
      random.pick(words),
    ])
  }

  #operand(): string {
    const random = this.#random
    return random.pick([this.#number(), this.#number(), random.pick(fields), random.pick(this.#tokens)])
  }

  #line(): string {
    const random = this.#random
    const operands = Array.from({ length: random.below(4) }, () => this.#operand())
    const key = random.pick(['version', 'typetrack', 'autosalt', 'other'])
    return random.pick([
      [random.pick(names), ...operands].join(' '),
      [random.pick(names), ...operands].join(' '),
      `#pragma ${key} ${this.#number()}`,
      `#define ${[random.pick([...this.#tokens, ...fields]), random.pick(names), ...operands].join(' ')}`,
      `${random.pick(this.#tokens)}: ${random.pick(names)}`,
    ])
  }

  #changed(source: string): string {
    const random = this.#random
    const lines = source.split('\n')
    const at = random.below(lines.length)
    const place = random.below(source.length + 1)
    switch (random.below(7)) {
      case 0:
        return lines.toSpliced(at, 1).join('\n')
      case 1:
        return lines.toSpliced(at, 0, this.#line()).join('\n')
      case 2: {
        const tokens = lines[at]!.split(' ')
        const changed = tokens.with(random.below(tokens.length), this.#operand()).join(' ')
        return lines.with(at, changed).join('\n')
      }
      case 3:
        return source.slice(0, place) + random.pick(fragments) + source.slice(place)
      case 4:
        return source.slice(0, place) + source.slice(place + random.between(1, 3))
      case 5:
        return lines.with(at, `${lines[at]} ${this.#operand()}`).join('\n')
      default:
        return source.replace(/#pragma version \d+/, `#pragma version ${random.below(16)}`)
    }
  }
}

function damaged(random: Random, program: Uint8Array): Uint8Array {
  const bytes = [...program]
  for (let count = random.between(0, 3); count > 0; count--) {
    bytes.splice(random.below(bytes.length + 1), random.below(2), ...random.bytes(random.below(2)))
  }
  return Uint8Array.from(bytes)
}

/** Assembles sources, and disassembles the programs with some of their bytes changed. Returns a summary. */
export async function runSources(pair: NodePair, random: Random, count: number): Promise<string> {
  const sources = new Sources(random)
  let [done, assembled] = [0, 0]
  const work = async (): Promise<void> => {
    while (done < count) {
      const number = done++
      const program = await pair.compile(sources.next(), `source ${number}`)
      if (program === undefined) continue
      assembled++
      await pair.disassemble(damaged(random, program), `program ${number}`)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return `${count} sources, ${assembled} assembled`
}
