/** Random and damaged programs, as logic signatures and as programs of applications. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { Bytes, Ed25519, Group, Submission, type Transaction } from '@latchkey/algorand'
import { AssemblyError, assemble } from '@latchkey/avm'
import { ProgramSourceMap } from 'algosdk'
import type { Draft } from './Draft.test.helper.js'
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

/** The version of the application, below which updates cannot go: the first with boxes. */
const oldestVersion = 8

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
  const source = `#pragma version ${oldestVersion}
    txn ApplicationID; bz ok; txn NumAppArgs; bz ok
    byte "a"; int 5; app_global_put; byte "b"; byte "text"; app_global_put; txn Sender; byte "a"; int 6; app_local_put
    byte "b"; int 40; box_create; pop; byte "c"; byte "contents"; box_put; ok: int 1`
  const schema = { nui: 5n, nbs: 5n }
  const apsu = new Uint8Array([oldestVersion, 0x81, 1])
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

type CallOptions = { readonly isCreation: boolean; readonly caller: Person; readonly completion: bigint }

/** Makes a case of a program. */
type Shape = (what: string, program: Uint8Array) => Case

/** How programs come about: bytes of recorded ones are changed, or source is written, with or without care. */
const kinds = ['damaged', 'damaged', 'written', 'written', 'repaired', 'repaired', 'repaired', 'repaired'] as const
const versions = [1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13, 13, 13, 13]
/** Attempts to repair a program, each of which takes out one instruction. */
const maxRepairs = 60

type Assembled = { readonly program: Uint8Array; readonly lineOf: (pc: number) => number }

/** Assembles a program. Returns the line of the first error if that fails. */
function assembled(draft: Draft): Assembled | { readonly errorLine: number } {
  try {
    const { program, mappings } = assemble(draft.source)
    const map = new ProgramSourceMap({ version: 3, sources: [''], names: [], mappings })
    return { program, lineOf: (pc) => map.getLocationForPc(pc)?.line ?? -1 }
  } catch (error) {
    if (!(error instanceof AssemblyError)) throw error
    return { errorLine: error.errors[0]!.line - 1 }
  }
}

/** The place of the failure in the program of a case; the last one is that of the outermost program. */
function failedPc(message: string): number | undefined {
  const found = [...message.matchAll(/pc= *(\d+)/g)].at(-1)
  return found === undefined ? undefined : Number(found[1])
}

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
    const kind = random.pick(kinds)
    const isSignature = random.chance(kind === 'damaged' ? 0.7 : 0.45)
    if (kind === 'damaged') {
      const { program, args } = random.pick(this.#recorded)
      const damaged = random.chance(0.85) ? damage(random, program) : program
      if (damaged.length === 0 || args.length > 16) return this.next(index)
      return isSignature
        ? this.#signature(args)(`damaged ${index}`, damaged)
        : this.#application(args.slice(0, 3), this.#randomCall())(`damaged application ${index}`, damaged)
    }
    const args = Array.from({ length: random.below(4) }, () => random.bytes(random.below(40)))
    const isCareful = kind === 'repaired'
    const version = random.pick(isCareful ? versions.slice(isSignature ? 0 : 1) : [...versions, 14])
    const call = isCareful ? this.#fittingCall(version) : this.#randomCall()
    const groupSize = call.isCreation && !isSignature ? 1 : 2
    const draft = RandomProgram.write({
      random,
      mode: isSignature ? 'signature' : 'application',
      version,
      names: {
        ...this.#setting.names,
        groupSize,
        argumentCount: args.length,
        hasEqualBlocks: this.#pair.haveEqualHeaders,
      },
      length: random.pick(isCareful ? [2, 5, 10, 20, 40, 60] : [1, 2, 3, 5, 8, 13, 20, 40]),
      isCareful,
    })
    const shape = isSignature ? this.#signature(args) : this.#application(args, call)
    if (isCareful) await this.#repair(draft, shape)
    const program = await this.#pair.compile(draft.source, `assembly ${index}`)
    if (program === undefined) return this.next(index)
    if (!isCareful && random.chance(0.02)) program[0] = random.below(16)
    return shape(`${kind} ${isSignature ? 'signature' : 'application'} ${index}`, program)
  }

  /** Takes out the instructions that fail on the devnet, until it accepts the program. */
  async #repair(draft: Draft, shape: Shape): Promise<void> {
    for (let tries = 0; tries < maxRepairs; tries++) {
      const result = assembled(draft)
      if ('errorLine' in result) {
        if (!draft.removeAt(result.errorLine)) return
        continue
      }
      const { group } = shape('repair', result.program)
      const message = await this.#pair.simulateOnDevnet(group)
      if (message === '') return
      const pc = failedPc(message)
      if (pc === undefined || !draft.removeAt(result.lineOf(pc))) {
        if (!draft.removeLast()) return
      }
    }
  }

  /** A payment with a delegated signature, next to another one. */
  #signature(args: readonly Uint8Array[]): Shape {
    const [owner, user] = this.#setting.people as [Person, Person]
    const pair = this.#pair
    const lx = this.#random.chance(0.1) ? this.#random.bytes(32) : undefined
    return (what, program) => {
      const txns = [
        pair.txn('pay', owner, { rcv: user.publicKey, amt: 5n, lx }),
        pair.txn('pay', user, { rcv: owner.publicKey }),
      ]
      const [first, second] = Group.assign(txns) as [Txn, Txn]
      const sig = Ed25519.sign(Bytes.concat([Bytes.fromUtf8('Program'), program]), owner.secretKey)
      const logic = Submission.encode({ txn: first, lsig: { l: program, sig, arg: [...args] } })
      return { what, group: [logic, pair.signOne(second)], isRepeatable: true }
    }
  }

  #randomCall(): CallOptions {
    const random = this.#random
    const [owner, user] = this.#setting.people as [Person, Person]
    return {
      isCreation: random.chance(0.4),
      caller: random.chance(0.8) ? owner : user,
      completion: random.pick([0n, 0n, 0n, 0n, 1n, 2n, 3n, 5n]),
    }
  }

  /** A call that a program of a version can accept. The owner has opted in, and the user has not. */
  #fittingCall(version: number): CallOptions {
    const random = this.#random
    const [owner, user] = this.#setting.people as [Person, Person]
    const isOwner = random.chance(0.8)
    return {
      isCreation: version < oldestVersion || random.chance(0.1),
      caller: isOwner ? owner : user,
      completion: isOwner ? random.pick([0n, 0n, 0n, 0n, 2n, 3n, 5n]) : random.pick([0n, 1n]),
    }
  }

  /** Either the creation of an application, or an update and a call. */
  #application(apaa: readonly Uint8Array[], { isCreation, caller, completion }: CallOptions): Shape {
    const [owner, user] = this.#setting.people as [Person, Person]
    const { app, names } = this.#setting
    const pair = this.#pair
    const random = this.#random
    const resources: Partial<Txn> = {
      apat: [user.publicKey, this.#setting.people[2]!.publicKey],
      apfa: [names.apps[1]!],
      apas: [names.assets[0]!],
      apbx: [{ n: Buffer.from('b') }, { n: Buffer.from('c') }, { i: 1n, n: Buffer.from('b') }],
      apaa: [...apaa],
      fee: 50_000n,
    }
    const hasOwnClear = random.chance(0.95)
    return (what, program) => {
      const apsu = hasOwnClear && program[0]! >= 2 ? new Uint8Array([program[0]!, 0x81, 1]) : program
      const clear = program[0]! >= 3 ? apsu : new Uint8Array([program[0]!, 0x20, 1, 1, 0x22])
      const programs = { apap: program, apsu: clear }
      if (isCreation || program[0]! < oldestVersion) {
        const fields = { ...programs, ...resources, apgs: { nui: 3n, nbs: 3n }, apep: 3 }
        return { what, group: pair.sign([pair.txn('appl', owner, fields)]), isRepeatable: true }
      }
      const update = pair.txn('appl', owner, { ...programs, apid: app, apan: 4n })
      const call = pair.txn('appl', caller, { ...resources, apid: app, apan: completion })
      return { what, group: pair.sign([update, call]), isRepeatable: false }
    }
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
