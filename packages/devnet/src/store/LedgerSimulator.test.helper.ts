/** Performs random actions on a ledger; some of them are rejected. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Ed25519, Group, Hash, Submission, type Transaction } from '@latchkey/algorand'
import fc from 'fast-check'
import * as Genesis from '../ledger/Genesis.js'
import { Ledger } from '../ledger/Ledger.js'
import type { LedgerChange, Snapshot } from '../ledger/LedgerChange.js'
import { LedgerError } from '../ledger/LedgerError.js'
import * as MapKey from '../ledger/MapKey.js'
import '../../../../test/seed.mjs'

type Txn = Transaction.Transaction
export type Person = { publicKey: Uint8Array; secretKey: Uint8Array; key: MapKey.MapKey }

export const genesis = Genesis.make({ accountCount: 3 })
export const otherGenesis = Genesis.make({ accountCount: 2 })
const dollarId = Genesis.dollarIds[0]!
export const people: readonly Person[] = [...genesis.accounts.map(({ secretKey }) => seedOf(secretKey)), 7].map(
  personOf,
)

function seedOf(secretKey: string): Uint8Array {
  return new Uint8Array(Buffer.from(secretKey, 'base64').subarray(0, 32))
}

function personOf(seed: Uint8Array | number): Person {
  const bytes = typeof seed === 'number' ? new Uint8Array(32).fill(seed) : seed
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(bytes)
  return { publicKey, secretKey, key: MapKey.of(publicKey) }
}

export type Step =
  | {
      do: 'pay' | 'axfer' | 'optIn' | 'create' | 'destroy' | 'freeze' | 'rekey' | 'goOnline' | 'close'
      a: number
      b: number
      n: number
    }
  | {
      do: 'fund' | 'pair' | 'offset' | 'time' | 'block' | 'keep' | 'restore' | 'reset'
      a: number
      b: number
      n: number
    }

const verbs: readonly { weight: number; verbs: Step['do'][] }[] = [
  { weight: 12, verbs: ['pay', 'axfer', 'optIn', 'create', 'destroy', 'freeze', 'rekey', 'goOnline', 'close', 'pair'] },
  { weight: 8, verbs: ['block', 'fund'] },
  { weight: 3, verbs: ['offset', 'time', 'keep', 'restore'] },
  { weight: 1, verbs: ['reset'] },
]

export const anyStep: fc.Arbitrary<Step> = fc.record({
  do: fc.oneof(...verbs.map(({ weight, verbs }) => ({ weight, arbitrary: fc.constantFrom(...verbs) }))),
  a: fc.nat({ max: people.length - 1 }),
  b: fc.nat({ max: people.length - 1 }),
  n: fc.nat({ max: 2_000_000 }),
})

export class LedgerSimulator {
  readonly ledger: Ledger
  #nowMs = 1_700_000_000_000
  #notes = 0
  #saved: Snapshot | undefined
  #created: bigint[] = [dollarId]

  constructor(journal: (change: LedgerChange) => void = () => {}) {
    this.ledger = new Ledger({ genesis, nowMs: () => (this.#nowMs += 700) })
    this.ledger.useJournal(journal)
  }

  /** Returns whether the step was accepted. */
  perform(step: Step): boolean {
    try {
      this.#perform(step, people[step.a]!, people[step.b]!)
      return true
    } catch (error) {
      if (error instanceof LedgerError) return false
      throw error
    }
  }

  /** Creates something of every kind that a dump can hold. */
  fill(): void {
    const steps: Step['do'][] = [
      'create',
      'optIn',
      'block',
      'axfer',
      'pair',
      'freeze',
      'goOnline',
      'rekey',
      'fund',
      'time',
    ]
    for (const verb of [...steps, 'block', 'offset', 'pay', 'destroy'] as const)
      this.perform({ do: verb, a: 0, b: 1, n: 5 })
    this.perform({ do: 'create', a: 2, b: 1, n: 6 })
    this.perform({ do: 'pay', a: 1, b: 3, n: 400_000 })
    this.perform({ do: 'block', a: 1, b: 3, n: 0 })
    this.perform({ do: 'pay', a: 1, b: 3, n: 1_000 })
    this.perform({ do: 'pay', a: 2, b: 3, n: 200_000 })
  }

  #perform(step: Step, from: Person, to: Person): void {
    const { ledger } = this
    const { n } = step
    switch (step.do) {
      case 'fund': {
        const assets = n % 2 === 0 ? [] : [{ assetId: this.#assetId(n), amount: BigInt(n) }]
        ledger.fund({ type: 'fund', to: to.key, microAlgos: BigInt(n), assets })
        return
      }
      case 'pair': {
        const txns = [
          this.#txn('pay', from, { rcv: to.publicKey, amt: 5n }),
          this.#txn('pay', to, { rcv: from.publicKey }),
        ]
        this.#submit(Group.assign(txns), [from, to])
        return
      }
      case 'offset':
        ledger.setOffset(BigInt(n % 100))
        return
      case 'time':
        // Far ahead of the simulator's clock at first, then only forward, because a ledger's time does not go back.
        ledger.setTime((ledger.last.timestamp < 1_800_000_000n ? 1_800_000_000n : ledger.last.timestamp) + BigInt(n))
        return
      case 'block':
        ledger.closeBlock()
        return
      case 'keep':
        this.#saved = ledger.snapshot()
        return
      case 'restore':
        ledger.restore(this.#saved ?? ledger.snapshot())
        return
      case 'reset':
        ledger.reset()
        return
      case 'create':
        this.#created.push(ledger.state.transactionCount() + BigInt(ledger.pendingTransactions().length) + 1n)
    }
    this.#submit([this.#txnOf(step, from, to)], [from])
  }

  #txnOf({ do: verb, n }: Step, from: Person, to: Person): Txn {
    const xaid = this.#assetId(n)
    const rcv = to.publicKey
    switch (verb) {
      case 'axfer':
        return this.#txn('axfer', from, { xaid, aamt: BigInt(n % 50) + 1n, arcv: rcv })
      case 'optIn':
        return this.#txn('axfer', to, { xaid: this.#created.at(-1), arcv: rcv })
      case 'create': {
        const apar = { t: BigInt(n), dc: n % 20, an: 'Thing', un: Uint8Array.of(0xff, n % 255), m: from.publicKey }
        return this.#txn('acfg', from, { apar: { ...apar, f: from.publicKey, am: new Uint8Array(32).fill(9) } })
      }
      case 'destroy':
        return this.#txn('acfg', from, { caid: this.#created.at(-1) })
      case 'freeze':
        return this.#txn('afrz', from, { faid: xaid, fadd: rcv, afrz: true })
      case 'rekey':
        return this.#txn('pay', from, { rcv, rekey: rcv })
      case 'goOnline':
        return this.#txn('keyreg', from, {
          ...{ votekey: rcv, selkey: rcv, sprfkey: new Uint8Array(64).fill(3) },
          ...{ votelst: this.ledger.last.round + 1_000n, votekd: 10n, fee: 2_000_000n },
        })
      case 'close':
        return this.#txn('pay', from, { close: rcv })
      default:
        return this.#txn('pay', from, {
          rcv,
          amt: BigInt(n),
          ...(n % 3 === 1 && { lx: new Uint8Array(32).fill((n % 5) + 1) }),
        })
    }
  }

  #assetId(n: number): bigint {
    return this.#created[n % this.#created.length]!
  }

  /** Uses validity windows of different lengths. */
  #txn(type: string, from: Person, fields: Partial<Txn>): Txn {
    const { round } = this.ledger.last
    const note = new Uint8Array(Buffer.from(`${this.#notes++}`))
    const lv = round + 1n + BigInt((this.#notes * 7) % 20)
    const gh = MapKey.bytes(genesis.chain.genesisHash)
    return { type, snd: from.publicKey, fee: 1_000n, fv: round === 0n ? undefined : round, lv, gh, note, ...fields }
  }

  #submit(txns: readonly Txn[], signers: readonly Person[]): void {
    this.ledger.submit(
      txns.map((txn, index) => {
        const sender =
          txn.snd === signers[index]!.publicKey
            ? signers[index]!
            : people.find(({ key }) => key === MapKey.of(txn.snd))!
        const authorizer = this.ledger.state.account(sender.key).authorizer
        const signer = people.find(({ key }) => key === authorizer) ?? sender
        const sig = Ed25519.sign(
          Hash.prefixed(Hash.domains.transaction, Submission.transactionBytes(txn)),
          signer.secretKey,
        )
        return Submission.withBytes({ sig, txn, sgnr: signer === sender ? undefined : signer.publicKey })
      }),
    )
  }
}

/** An empty ledger with another clock. */
export function freshLedger(): Ledger {
  return new Ledger({ genesis, nowMs: () => 5_000 })
}

export function temporaryDirectory(t: Pick<TestContext, 'after'>): string {
  const directory = mkdtempSync(join(tmpdir(), 'devnet-test-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
