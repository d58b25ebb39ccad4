/** Tests invariants under random groups of all types, valid and invalid. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Group, Submission, type Transaction } from '@latchkey/algorand'
import fc from 'fast-check'
import { minBalance } from './ledger/Account.js'
import { LedgerError } from './ledger/LedgerError.js'
import type { MapKey } from './ledger/MapKey.js'
import * as avm from './ledger/programs/avm.js'
import * as Dump from './store/Dump.js'
import { fund, type Person, personOf, sign, TestNode } from './testing/TestNode.test.helper.js'
import '../../../test/seed.mjs'

type Txn = Transaction.Transaction
type Fields = Partial<Txn>

/** Each run submits up to 25 groups twice, so it counts as several cases. */
const usualRuns = 100
const numRuns = Math.max(usualRuns, Math.floor(Number(process.env['LATCHKEY_FUZZ'] ?? 0) / 20))
const supply = new TestNode().genesis.allocations.reduce((sum, { microAlgos }) => sum + microAlgos, 0n)

// Two rich accounts with assets, the issuer of dollars, two poor ones, and one that does not exist.
const peopleCount = 6
const person = fc.nat(peopleCount - 1)
const assetChoice = fc.nat(9)
const amount = fc.constantFrom('none', 'one', 'one', 'some', 'some', 'some', 'minimum', 'all', 'more')
const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 15 }, { arbitrary, weight: 1 })

const member = fc.record({
  type: fc.constantFrom('pay', 'pay', 'axfer', 'axfer', 'axfer', 'acfg', 'acfg', 'afrz', 'keyreg'),
  from: person,
  to: person,
  other: person,
  asset: assetChoice,
  amount,
  fee: fc.constantFrom(0n, 1000n, 1000n, 1000n, 1000n, 2000n, 3000n, 5000n),
  /** Whether an authorized account sends it, if there is one. */
  fits: fc.constantFrom(true, true, true, true, true, true, true, false),
  kind: fc.nat(5),
  close: rarely(person),
  rekey: rarely(person),
  lease: rarely(fc.nat(1)),
  wrongSigner: rarely(person),
})

const step = fc.record({
  members: fc.oneof(fc.array(member, { minLength: 1, maxLength: 1 }), fc.array(member, { minLength: 1, maxLength: 5 })),
  broken: rarely(fc.constantFrom('ungrouped', 'incomplete', 'unsigned', 'forged', 'repeated', 'over')),
  before: rarely(fc.constantFrom('mine', 'fund')),
})

type Member = Step['members'][number]
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const filled = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
const seen = new Map<string, number>()

class World {
  readonly node = new TestNode({ nowMs: () => 1_700_000_000_000 })
  readonly people: readonly Person[]
  #last: Uint8Array[] = []

  constructor() {
    const others = [101, 102].map((seed) => fund(this.node, personOf(seed), 3_000_000n))
    const [first, second] = [this.node.funded(0), this.node.funded(1)]
    this.people = [first, second, this.node.dispenser, ...others, personOf(103)]
    const apar = { t: 1000n, m: first.publicKey, f: second.publicKey, c: first.publicKey }
    this.node.node.submit([Submission.decodeFirst(sign(this.node.txn('acfg', first, { apar }), first))])
    for (const who of this.people.slice(1, 4)) fund(this.node, who, 0n, [{ assetId: 1001n, amount: 100n }])
  }

  get state() {
    return this.node.ledger.state
  }

  hash(): string {
    return Dump.hash(this.node.ledger.snapshot())
  }

  /** The signed transactions of a step. */
  build({ members, broken }: Step): Uint8Array[] {
    if (broken === 'repeated' && this.#last.length > 0) return this.#last
    let txns = members.map((one) => this.#txn(one))
    if (broken === 'over') txns[0] = { ...txns[0]!, fv: undefined, lv: this.node.ledger.last.round }
    if (txns.length > 1 && broken !== 'ungrouped') txns = Group.assign(txns)
    if (broken === 'incomplete' && txns.length > 1) txns.pop()
    const signers = this.#signers(txns)
    const signed = txns.map((txn, index) =>
      sign(txn, this.people[members[index]!.wrongSigner ?? -1] ?? signers[index]!),
    )
    if (broken === 'unsigned' || broken === 'forged') {
      const sig = broken === 'forged' ? filled(7, 64) : undefined
      const last = Submission.decodeFirst(signed.at(-1)!).signed
      signed[signed.length - 1] = Submission.encode({ ...last, sig })
    }
    this.#last = signed
    return signed
  }

  /** The authorized signer of each member, after rekeying in the ledger and earlier in the group. */
  #signers(txns: readonly Txn[]): Person[] {
    const byKey = new Map(this.people.map((one) => [one.key, one]))
    const rekeyed = new Map(this.people.map(({ key }) => [key, this.state.account(key).authorizer ?? key]))
    return txns.map(({ snd, rekey, close }) => {
      const sender = Buffer.from(snd).toString('latin1')
      const signer = byKey.get(rekeyed.get(sender)!)!
      if (rekey !== undefined) rekeyed.set(sender, Buffer.from(rekey).toString('latin1'))
      if (close !== undefined) rekeyed.set(sender, sender)
      return signer
    })
  }

  #txn(one: Member): Txn {
    const from = (one.fits ? this.#fitting(one) : undefined) ?? this.people[one.from]!
    const common: Fields = {
      fee: one.fee,
      lx: one.lease === undefined ? undefined : filled(one.lease + 1),
      rekey: one.rekey === undefined ? undefined : this.people[one.rekey]!.publicKey,
    }
    return this.node.txn(one.type, from, { ...common, ...this.#fields(one, from) })
  }

  /** Returns the account that is authorized for this. */
  #fitting({ type, kind, asset, from }: Member): Person | undefined {
    const id = this.#asset(asset)
    const its = this.state.asset(id)
    const role = (key: MapKey | undefined): Person | undefined => this.people.find((one) => one.key === key)
    if (type === 'afrz') return role(its?.freeze)
    if (type === 'acfg' && kind >= 2) return role(its?.manager)
    if (type !== 'axfer' || kind === 0) {
      const wealthy = this.people.filter(({ key }) => this.state.account(key).microAlgos > 1_000_000n)
      return wealthy[from % wealthy.length]
    }
    return kind === 1 ? role(its?.clawback) : this.#holder(id, from)
  }

  #holder(id: bigint, choice: number): Person | undefined {
    const holders = this.people.filter(({ key }) => this.state.holding(key, id) !== undefined)
    return holders[choice % holders.length]
  }

  #fields(one: Member, from: Person): Fields {
    const id = this.#asset(one.asset)
    const isOfAsset = one.fits && (one.type === 'axfer' || one.type === 'afrz')
    const pick = (choice: number): Person => (isOfAsset && this.#holder(id, choice)) || this.people[choice]!
    const { publicKey: to } = pick(one.to)
    const { publicKey: other, key: otherKey } = pick(one.other)
    const close = one.close === undefined ? undefined : pick(one.close).publicKey
    switch (one.type) {
      case 'pay':
        return { rcv: to, amt: amountOf(one.amount, this.state.account(from.key).microAlgos - one.fee), close }
      case 'axfer': {
        if (one.kind === 0) return { xaid: id, arcv: from.publicKey }
        const isClawback = one.kind === 1
        const holder = isClawback ? otherKey : from.key
        const aamt = amountOf(one.amount, this.state.holding(holder, id)?.amount ?? 0n)
        return { xaid: id, aamt, arcv: to, ...(isClawback ? { asnd: other } : { aclose: close }) }
      }
      case 'acfg': {
        const apar = { m: from.publicKey, f: to, c: one.kind < 4 ? other : from.publicKey }
        if (one.kind < 2) return { apar: { ...apar, t: BigInt(10 ** one.kind * 100), df: one.kind === 1 } }
        return { caid: id, apar: one.kind < 4 ? apar : undefined }
      }
      case 'afrz':
        return { faid: id, fadd: to, afrz: one.kind < 3 }
      default: {
        const round = this.node.ledger.last.round
        if (one.kind < 2) return { nonpart: one.kind === 0 && one.amount === 'all' }
        return {
          votekey: filled(1),
          selkey: filled(2),
          sprfkey: filled(3, 64),
          votekd: 1n,
          votelst: round + BigInt(one.kind),
        }
      }
    }
  }

  /** An existing id, the newest first, or an unknown one. */
  #asset(choice: number): bigint {
    const ids = [...this.state.copy().assets.keys()]
    return choice === 9 ? 999_999n : (ids.at(-1 - (choice % ids.length)) ?? 999_999n)
  }

  /** Returns whether the group was accepted, which simulation must have predicted. */
  submit(group: readonly Uint8Array[]): boolean {
    const decoded = group.map((bytes) => Submission.decodeFirst(bytes))
    const foreseen = attempt(() => {
      const options = { allowsEmptySignatures: false, fixesSigners: false }
      const { failure } = this.node.ledger.simulate(decoded, options)
      if (failure !== undefined) throw new LedgerError('rule_violation', failure.message)
    })
    const taken = attempt(() => this.node.node.submit(decoded))
    assert.equal(taken === undefined, foreseen === undefined, `foreseen: ${foreseen}, submitted: ${taken}`)
    return taken === undefined
  }

  check(): void {
    const { accounts, assets, holdings } = this.state.copy()
    const { feeSink, rewardsPool } = this.node.genesis.chain
    let total = 0n
    const held = countBy([...holdings.values()].map(({ key }) => key))
    const created = countBy([...assets.values()].map(({ creator }) => creator))
    for (const [key, account] of accounts) {
      total += account.microAlgos
      assert.equal(account.assetsHeld, held.get(key) ?? 0)
      assert.equal(account.assetsCreated, created.get(key) ?? 0)
      assert.equal(this.state.heldBy(key).length, account.assetsHeld)
      assert.equal(this.state.createdBy(key).length, account.assetsCreated)
      const isSpecial = key === feeSink || key === rewardsPool
      assert.ok(isSpecial || account.microAlgos >= minBalance(account), 'below the minimum balance')
    }
    assert.equal(total, supply)
    for (const key of [...held.keys(), ...created.keys()]) assert.ok(accounts.has(key))
    const sums = new Map<bigint, bigint>()
    for (const { assetId, holding } of holdings.values()) {
      sums.set(assetId, (sums.get(assetId) ?? 0n) + holding.amount)
    }
    for (const [assetId, sum] of sums) assert.equal(sum, assets.get(assetId)?.total ?? 0n)
    for (const assetId of assets.keys()) assert.ok(sums.has(assetId))
  }
}

function amountOf(kind: string, available: bigint): bigint | undefined {
  const amounts: { [kind: string]: bigint } = { one: 1n, some: available / 3n, minimum: 100_000n, all: available }
  const value = kind === 'more' ? available + 1n : (amounts[kind] ?? 0n)
  return value > 0n ? value : undefined
}

function countBy(keys: readonly MapKey[]): Map<MapKey, number> {
  const counts = new Map<MapKey, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

/** Returns the reason of a rejection. Rethrows other errors. */
function attempt(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (error instanceof LedgerError) return error.message
    throw error
  }
}

type Done = { readonly before: Step['before']; readonly group: readonly Uint8Array[]; readonly taken: boolean }

/** Submits the signed transactions of a step. */
function take(world: World, before: Step['before'], group: readonly Uint8Array[]): boolean {
  if (before === 'mine') world.node.node.mine(1)
  if (before === 'fund') fund(world.node, world.people.at(-1)!, 300_000n)
  const hash = world.hash()
  const taken = world.submit(group)
  if (!taken) assert.equal(world.hash(), hash, 'a rejected group changed something')
  world.check()
  return taken
}

// The ledger is used directly here. The REST API loads the evaluator, which also verifies unusual signatures.
before(async () => {
  await avm.load()
})

test('the supply is constant, a rejected group changes nothing, and simulation predicts submission', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 25, size: 'max' }), fc.nat(), (steps, choice) => {
      const world = new World()
      const middle = choice % steps.length
      const hashes = [world.hash()]
      const done: Done[] = []
      let snapshot = 0
      for (const [index, one] of steps.entries()) {
        if (index === middle) snapshot = world.node.node.snapshot()
        const group = world.build(one)
        const taken = take(world, one.before, group)
        done.push({ before: one.before, group, taken })
        hashes.push(world.hash())
        for (const { type } of one.members) seen.set(`${type} ${taken}`, (seen.get(`${type} ${taken}`) ?? 0) + 1)
      }

      world.node.node.revert(snapshot)
      assert.equal(world.hash(), hashes[middle])
      world.check()
      for (const { before, group, taken } of done.slice(middle)) assert.equal(take(world, before, group), taken)
      assert.equal(world.hash(), hashes.at(-1))
    }),
    { numRuns },
  )
})

test('the generated groups have all types, some of each accepted and some rejected', () => {
  for (const type of ['pay', 'axfer', 'acfg', 'afrz', 'keyreg']) {
    for (const taken of [true, false]) assert.ok((seen.get(`${type} ${taken}`) ?? 0) > 0, `${type} ${taken}`)
  }
})
