/** Random and damaged programs, as logic signatures and as programs of applications. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { Bytes, Ed25519, Group, Submission, type Transaction } from '@latchkey/algorand'
import type { NodePair, Person } from './NodePair.test.helper.js'
import type { Random } from './Random.test.helper.js'
import { type Names, RandomProgram } from './RandomProgram.test.helper.js'
import { applicationAccount, options } from './RandomSession.test.helper.js'

type Txn = Transaction.Transaction

const samples = new URL('../../../../packages/avm/src/testdata/lsig.jsonl.gz', import.meta.url)
const batch = 200
const concurrency = 8
/** The part of the programs that is also submitted. */
const submitted = 0.3

type Recorded = { readonly program: Uint8Array; readonly args: readonly Uint8Array[] }

function readRecorded(): Recorded[] {
  const lines = gunzipSync(readFileSync(samples)).toString().trim().split('\n')
  const fromHex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'))
  return lines.map((line) => {
    const { program, args = [] } = JSON.parse(line) as { program: string; args?: string[] }
    return { program: fromHex(program), args: args.map(fromHex) }
  })
}

/** Changes, inserts or removes a few bytes. */
function damage(random: Random, program: Uint8Array): Uint8Array {
  const bytes = [...program]
  for (let count = random.between(1, 3); count > 0; count--) {
    const at = random.chance(0.1) ? 0 : random.below(bytes.length)
    const kind = random.below(4)
    if (kind === 0) bytes.splice(at, 1)
    else if (kind === 1) bytes.splice(at, 0, random.below(256))
    else if (kind === 2) bytes[at] = random.chance(0.5) ? random.below(14) : random.below(256)
    else bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
  }
  return Uint8Array.from(bytes)
}

type Setting = { readonly people: readonly Person[]; readonly names: Names; readonly app: bigint }

/** An application with state and boxes, which its creator may update to any program. */
async function prepare(pair: NodePair, random: Random): Promise<Setting> {
  const people = [pair.person(random), pair.person(random), pair.person(random)]
  await pair.fund(people, 1_000_000_000n)
  const [owner, user] = people as [Person, Person]
  const create = async (txn: Txn): Promise<bigint> => {
    const [signed] = pair.sign([txn])
    const { isAccepted, message } = await pair.submit([signed!], 'preparation')
    assert.ok(isAccepted, message)
    const { id } = Submission.decodeFirst(signed!)
    const shown = await pair.look(`/v2/transactions/pending/${id}?format=json`, 'preparation')
    return BigInt((shown!['application-index'] ?? shown!['asset-index']) as number)
  }
  const source = `#pragma version 10
    txn ApplicationID; bz ok; txn NumAppArgs; bz ok
    byte "a"; int 5; app_global_put; byte "b"; byte "text"; app_global_put; txn Sender; byte "a"; int 6; app_local_put
    byte "b"; int 40; box_create; pop; byte "c"; byte "contents"; box_put; ok: int 1`
  const schema = { nui: 5n, nbs: 5n }
  const apsu = new Uint8Array([10, 0x81, 1])
  const asset = await create(
    pair.txn('acfg', owner, { apar: { t: 1000n, m: owner.publicKey, an: Buffer.from('name') } }),
  )
  const apap = (await pair.compile(source, 'preparation'))!
  const [app, other] = [
    await create(pair.txn('appl', owner, { apap, apsu, apgs: schema, apls: schema, apep: 3 })),
    await create(pair.txn('appl', user, { apap, apsu, apgs: schema, apls: schema })),
  ]
  await pair.fund([applicationAccount(app), applicationAccount(other)], 100_000_000n)
  const boxes = ['b', 'c'].map((name) => ({ n: Buffer.from(name) }))
  const call = { apid: app, apan: 1n, apaa: [Buffer.from('x')], apbx: boxes }
  const { isAccepted, message } = await pair.submit(pair.sign([pair.txn('appl', owner, call)]), 'preparation')
  assert.ok(isAccepted, message)
  const accounts = [...people, applicationAccount(app)].map(({ publicKey }) => publicKey)
  return { people, app, names: { apps: [app, other], assets: [asset], accounts, boxes: ['b', 'c'], groupSize: 2 } }
}

type Case = { readonly what: string; readonly group: readonly Uint8Array[]; readonly isRepeatable: boolean }

class Cases {
  readonly #pair: NodePair
  readonly #random: Random
  readonly #setting: Setting
  readonly #recorded = readRecorded()

  constructor(pair: NodePair, random: Random, setting: Setting) {
    this.#pair = pair
    this.#random = random
    this.#setting = setting
  }

  async next(index: number): Promise<Case> {
    const random = this.#random
    const kind = random.below(10)
    if (kind < 3) {
      const { program, args } = random.pick(this.#recorded)
      const damaged = random.chance(0.85) ? damage(random, program) : program
      if (damaged.length === 0 || args.length > 16) return this.next(index)
      return random.chance(0.7)
        ? this.#signature(`damaged ${index}`, damaged, args)
        : this.#application(`damaged application ${index}`, damaged)
    }
    const mode = kind < 6 ? 'signature' : 'application'
    const version = random.pick([
      1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13, 13, 13, 13, 14,
    ])
    const { names } = this.#setting
    const length = random.pick([1, 2, 3, 5, 8, 13, 20, 40])
    const source = RandomProgram.write({ random, mode, version, names, length })
    const program = await this.#pair.compile(source, `assembly ${index}`)
    if (program === undefined) return this.next(index)
    if (random.chance(0.02)) program[0] = random.below(16)
    const args = Array.from({ length: random.below(3) }, () => random.bytes(random.below(40)))
    return mode === 'signature'
      ? this.#signature(`signature ${index}`, program, args)
      : this.#application(`application ${index}`, program)
  }

  /** A payment with a delegated signature, next to another one. */
  #signature(what: string, program: Uint8Array, args: readonly Uint8Array[]): Case {
    const [owner, user] = this.#setting.people as [Person, Person]
    const pair = this.#pair
    const txns = [
      pair.txn('pay', owner, {
        rcv: user.publicKey,
        amt: 5n,
        lx: this.#random.chance(0.1) ? this.#random.bytes(32) : undefined,
      }),
      pair.txn('pay', user, { rcv: owner.publicKey }),
    ]
    const [first, second] = Group.assign(txns) as [Txn, Txn]
    const sig = Ed25519.sign(Bytes.concat([Bytes.fromUtf8('Program'), program]), owner.secretKey)
    const logic = Submission.encode({ txn: first, lsig: { l: program, sig, arg: [...args] } })
    return { what, group: [logic, pair.signOne(second)], isRepeatable: true }
  }

  /** Either the creation of an application, or an update and a call. */
  #application(what: string, program: Uint8Array): Case {
    const [owner, user] = this.#setting.people as [Person, Person]
    const { app, names } = this.#setting
    const pair = this.#pair
    const random = this.#random
    const apsu = random.chance(0.95) && program[0]! >= 2 ? new Uint8Array([program[0]!, 0x81, 1]) : program
    const clear = program[0]! >= 3 ? apsu : new Uint8Array([program[0]!, 0x20, 1, 1, 0x22])
    const programs = { apap: program, apsu: clear }
    const resources: Partial<Txn> = {
      apat: [user.publicKey, this.#setting.people[2]!.publicKey],
      apfa: [names.apps[1]!],
      apas: [names.assets[0]!],
      apbx: [{ n: Buffer.from('b') }, { n: Buffer.from('c') }, { i: 1n, n: Buffer.from('b') }],
      apaa: Array.from({ length: random.below(4) }, () => random.bytes(random.below(20))),
      fee: 20_000n,
    }
    if (random.chance(0.4)) {
      const fields = { ...programs, ...resources, apgs: { nui: 3n, nbs: 3n }, apep: 3 }
      return { what, group: pair.sign([pair.txn('appl', owner, fields)]), isRepeatable: true }
    }
    const update = pair.txn('appl', owner, { ...programs, apid: app, apan: 4n })
    const completion = random.pick([0n, 0n, 0n, 0n, 1n, 2n, 3n, 5n])
    const call = pair.txn('appl', random.chance(0.8) ? owner : user, { ...resources, apid: app, apan: completion })
    return { what, group: pair.sign([update, call]), isRepeatable: false }
  }
}

/** Simulates programs, and submits a part of them. Returns a summary. */
export async function runPrograms(pair: NodePair, random: Random, count: number): Promise<string> {
  const cases = new Cases(pair, random, await prepare(pair, random))
  const counts = { accepted: 0, failed: 0, submitted: 0, confirmed: 0 }
  for (let done = 0; done < count; ) {
    const list: Case[] = []
    for (; list.length < batch && done < count; done++) list.push(await cases.next(done))
    const queue = [...list]
    const settings = new Map(list.map((one) => [one, options(random)]))
    const work = async (): Promise<void> => {
      for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
        const { isAccepted } = await pair.simulate(one.group, settings.get(one)!, one.what)
        if (isAccepted) counts.accepted++
        else counts.failed++
      }
    }
    await Promise.all(Array.from({ length: concurrency }, work))
    for (const { what, group, isRepeatable } of list) {
      if (!isRepeatable || !random.chance(submitted)) continue
      const { isAccepted } = await pair.submit(group, `${what}, submitted`)
      counts.submitted++
      if (isAccepted) counts.confirmed++
    }
  }
  return `${count} programs: ${JSON.stringify(counts)}`
}
