/** Transfers by the program of docs/schemes/upto.md, valid and damaged. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Bytes, Ed25519, Group, Submission, type Transaction } from '@latchkey/algorand'
import type { NodePair, Person } from './NodePair.test.helper.js'
import type { Random } from './Random.test.helper.js'

type Txn = Transaction.Transaction

const document = readFileSync(new URL('../../../../docs/schemes/upto.md', import.meta.url), 'utf8')
const [, template] = /^```teal upto\n([\s\S]*?)^```$/m.exec(document) as unknown as [string, string]

type Parties = {
  readonly payer: Person
  readonly payTo: Person
  readonly facilitator: Person
  readonly stranger: Person
}

type Authorization = {
  readonly maximum: bigint
  readonly lease: Uint8Array
  readonly lastValid: bigint
  readonly asset: bigint
  readonly program: Uint8Array
  readonly signature: Uint8Array
}

type Parts = { fee: Txn; transfer: Txn; logic: { l: Uint8Array; sig: Uint8Array } }
type Damage = (parts: Parts, random: Random, parties: Parties) => Parts

const changed = (bytes: Uint8Array, random: Random): Uint8Array => {
  const copy = bytes.slice()
  const at = random.below(copy.length)
  copy[at] = copy[at]! ^ (1 << random.below(8))
  return copy
}

const transfer =
  (change: (txn: Txn, random: Random, parties: Parties) => Partial<Txn>): Damage =>
  (parts, random, parties) => ({
    ...parts,
    transfer: { ...parts.transfer, ...change(parts.transfer, random, parties) },
  })

/** Each makes a valid group one that must be refused. */
const damages: { readonly [name: string]: Damage } = {
  'above the maximum': transfer((_, random) => ({ aamt: 1_000_001n + BigInt(random.below(1e9)) })),
  'the largest amount': transfer(() => ({ aamt: 2n ** 64n - 1n })),
  'another receiver': transfer((_, __, { stranger }) => ({ arcv: stranger.publicKey })),
  'to the payer itself': transfer((_, __, { payer }) => ({ arcv: payer.publicKey })),
  'another asset': transfer(({ xaid }) => ({ xaid: xaid! + 1n })),
  rekey: transfer((_, __, { stranger }) => ({ rekey: stranger.publicKey })),
  close: transfer((_, __, { stranger }) => ({ aclose: stranger.publicKey })),
  clawback: transfer((_, __, { payTo }) => ({ asnd: payTo.publicKey })),
  'a fee of the payer': transfer(() => ({ fee: 1000n })),
  'another lease': transfer((_, random) => ({ lx: random.bytes(32) })),
  'no lease': transfer(() => ({ lx: undefined })),
  'an earlier last valid round': transfer(({ lv }, random) => ({ lv: lv! - 1n - BigInt(random.below(50)) })),
  'a later last valid round': transfer(({ lv, fv }) => ({ lv: lv! + 1n, fv: (fv ?? 0n) + 1n })),
  'a payment of ALGO': transfer(({ arcv }) => ({
    type: 'pay',
    rcv: arcv,
    amt: 1n,
    arcv: undefined,
    aamt: undefined,
    xaid: undefined,
  })),
  'another sender': transfer((_, __, { stranger }) => ({ snd: stranger.publicKey })),
  'another network': transfer((_, random) => ({ gh: random.bytes(32) })),
  'another facilitator': (parts, _, { stranger }) => ({
    ...parts,
    fee: { ...parts.fee, snd: stranger.publicKey, rcv: stranger.publicKey },
  }),
  'another program': (parts, random) => ({ ...parts, logic: { ...parts.logic, l: changed(parts.logic.l, random) } }),
  'another signature': (parts, random) => ({
    ...parts,
    logic: { ...parts.logic, sig: changed(parts.logic.sig, random) },
  }),
}

class Transfers {
  readonly #pair: NodePair
  readonly #random: Random
  readonly #parties: Parties
  readonly #asset: bigint

  constructor(pair: NodePair, random: Random, parties: Parties, asset: bigint) {
    this.#pair = pair
    this.#random = random
    this.#parties = parties
    this.#asset = asset
  }

  async authorize(): Promise<Authorization> {
    const { payer, payTo, facilitator } = this.#parties
    const pair = this.#pair
    const maximum = 1n + BigInt(this.#random.below(1_000_000))
    const lease = this.#random.bytes(32)
    const lastValid = pair.round + 1000n - BigInt(this.#random.below(300))
    const bytes = (value: Uint8Array): string => `0x${Bytes.toHex(value)}`
    const integer = (value: bigint): string => `0x${value.toString(16).padStart(16, '0')}`
    const constants = {
      TMPL_PAYER: bytes(payer.publicKey),
      TMPL_PAY_TO: bytes(payTo.publicKey),
      TMPL_ASSET: integer(this.#asset),
      TMPL_MAXIMUM: integer(maximum),
      TMPL_LEASE: bytes(lease),
      TMPL_LAST_VALID: integer(lastValid),
      TMPL_GENESIS_HASH: bytes(pair.genesisHash),
      TMPL_FACILITATOR: bytes(facilitator.publicKey),
    }
    const source = Object.entries(constants).reduce((text, [name, value]) => text.replace(name, value), template)
    const program = (await pair.compile(source, 'upto program'))!
    const signature = Ed25519.sign(Bytes.concat([Bytes.fromUtf8('Program'), program]), payer.secretKey)
    return { maximum, lease, lastValid, asset: this.#asset, program, signature }
  }

  partsOf({ lease, lastValid, program, signature }: Authorization, amount: bigint): Parts {
    const { payer, payTo, facilitator } = this.#parties
    const pair = this.#pair
    const valid = { lv: lastValid, fv: lastValid > 1000n ? lastValid - 1000n : undefined }
    return {
      fee: pair.txn('pay', facilitator, { rcv: facilitator.publicKey, fee: 2000n, ...valid }),
      transfer: pair.txn('axfer', payer, {
        xaid: this.#asset,
        arcv: payTo.publicKey,
        aamt: amount,
        fee: undefined,
        lx: lease,
        ...valid,
      }),
      logic: { l: program, sig: signature },
    }
  }

  group({ fee, transfer, logic }: Parts): Uint8Array[] {
    const [first, second] = Group.assign([fee, transfer]) as [Txn, Txn]
    return [this.#pair.signOne(first), Submission.encode({ txn: second, lsig: logic })]
  }

  amountOf({ maximum }: Authorization): bigint {
    return BigInt(this.#random.below(Number(maximum) + 1))
  }
}

/** Submits transfers to both nodes. At most one of each authorization may settle, within its terms. */
export async function runTransfers(pair: NodePair, random: Random, count: number): Promise<string> {
  const people = Array.from({ length: 4 }, () => pair.person(random)) as [Person, Person, Person, Person]
  const [payer, payTo, facilitator, stranger] = people
  const parties = { payer, payTo, facilitator, stranger }
  await pair.fund(people, 1_000_000_000n)
  const assets: bigint[] = []
  for (let index = 0; index < 2; index++) {
    const [created] = pair.sign([pair.txn('acfg', payer, { apar: { t: 10n ** 15n, c: payTo.publicKey } })])
    assert.ok((await pair.submit([created!], 'asset')).isAccepted)
    const { id } = Submission.decodeFirst(created!)
    const shown = await pair.look(`/v2/transactions/pending/${id}?format=json`, 'asset')
    assets.push(BigInt(shown!['asset-index'] as number))
  }
  const optIns = assets.flatMap((xaid) =>
    [payTo, stranger].map((one) => pair.txn('axfer', one, { xaid, arcv: one.publicKey })),
  )
  assert.ok((await pair.submit(pair.sign(optIns), 'opt-in')).isAccepted)
  const transfers = new Transfers(pair, random, parties, assets[0]!)
  const counts = { settled: 0, damaged: 0, second: 0, voided: 0 }
  let charged = 0n
  for (let done = 0; done < count; ) {
    const authorization = await transfers.authorize()
    for (let times = 0; times < 6; times++, done++, counts.damaged++) {
      const name = random.pick(Object.keys(damages))
      const group = transfers.group(
        damages[name]!(transfers.partsOf(authorization, transfers.amountOf(authorization)), random, parties),
      )
      if (random.chance(0.3)) await pair.simulate(group, {}, name)
      const { isAccepted } = await pair.submit(group, `upto, ${name}`)
      assert.ok(!isAccepted, name)
    }
    // Two transfers of one authorization in one group.
    const both = [
      transfers.partsOf(authorization, transfers.amountOf(authorization)),
      transfers.partsOf(authorization, 1n),
    ]
    const [fee, one, two] = Group.assign([{ ...both[0]!.fee, fee: 3000n }, both[0]!.transfer, both[1]!.transfer]) as [
      Txn,
      Txn,
      Txn,
    ]
    const lsig = both[0]!.logic
    const twice = [pair.signOne(fee), Submission.encode({ txn: one, lsig }), Submission.encode({ txn: two, lsig })]
    assert.ok(!(await pair.submit(twice, 'upto, twice in a group')).isAccepted)
    const isVoided = random.chance(0.1)
    if (isVoided) {
      const own = pair.txn('pay', payer, { rcv: payer.publicKey, lx: authorization.lease, lv: authorization.lastValid })
      assert.ok((await pair.submit(pair.sign([own]), 'upto, voided by the payer')).isAccepted)
      counts.voided++
    }
    const amount = transfers.amountOf(authorization)
    const group = transfers.group(transfers.partsOf(authorization, amount))
    await pair.simulate(group, {}, 'upto, valid')
    const { isAccepted, message } = await pair.submit(group, 'upto, valid')
    assert.equal(isAccepted, !isVoided, message)
    if (isAccepted) {
      charged += amount
      counts.settled++
    }
    for (const second of [amount, transfers.amountOf(authorization)]) {
      const parts = transfers.partsOf(authorization, second)
      const fv = (parts.transfer.fv ?? 0n) + 1n + BigInt(random.below(2))
      const again = transfers.group({ ...parts, transfer: { ...parts.transfer, fv } })
      const result = await pair.submit(again, 'upto, second')
      assert.match(result.message, /overlapping lease/)
      counts.second++
    }
    done += 4
  }
  for (const { address } of people) await pair.look(`/v2/accounts/${address}`, 'upto, balances')
  const held = await pair.look(`/v2/accounts/${payTo.address}/assets/${assets[0]}`, 'upto, received')
  assert.equal(BigInt((held!['asset-holding'] as { amount: number }).amount), charged)
  return `${count} transfers: ${JSON.stringify(counts)}`
}
