/** Facilitators on one store, whose buyers authorize a maximum, on a devnet. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Address, type Transaction } from '@latchkey/algorand'
import { type PaymentPayload, type PaymentRequirements, UptoPayment } from '@latchkey/x402-wire'
import { Buyer } from '../client/buyer/Buyer.js'
import {
  dollar,
  type Market,
  newAddress,
  newSigner,
  openMarket,
  requiring,
} from '../client/buyer/market.test.helper.js'
import * as Signer from '../signer/Signer.js'
import { Facilitator } from './Facilitator.js'
import type { FacilitatorOptions } from './FacilitatorOptions.js'
import type { Caller } from './limits/Policy.js'
import { MemorySettlements, type SettlementStore } from './store/Settlements.js'
import { SqliteSettlements } from './store/sqlite/SqliteSettlements.js'

export const timeout = 60_000
export const gate = { claimant: 'gate' }
/** The callers that are not the gate: the buyer names a claimant of its own, or none. */
export const strangers: readonly Caller[] = [{ claimant: 'stranger' }, {}]

export type Setup = Market & {
  /** Starts a facilitator on the same data, as another process or a restarted one does. */
  start: (options?: Partial<FacilitatorOptions>) => Facilitator
  newStore: () => SettlementStore
  upto: PaymentRequirements
  authorize: (requirement?: PaymentRequirements) => Promise<PaymentPayload>
  received: () => Promise<bigint>
}

export async function open(t: TestContext, kind: string): Promise<Setup> {
  const market = await openMarket(t)
  const { chain, sponsor, signer, requirement, payTo } = market
  const upto: PaymentRequirements = { ...requirement, scheme: 'upto', amount: '500000' }
  const buyer = new Buyer({ signer, chains: chain, maxPerPayment: '$100' })
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-claimants-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const memory = new MemorySettlements()
  const newStore = () => (kind === 'memory' ? memory : new SqliteSettlements(join(directory, 'settlements.db')))
  return {
    ...market,
    newStore,
    start: (options = {}) => {
      const given = { chains: [chain], feePayer: sponsor, pollMs: 20, store: newStore(), ...options }
      const facilitator = new Facilitator(given)
      t.after(() => facilitator.stop())
      return facilitator
    },
    upto,
    authorize: async (one = upto) => (await buyer.pay(requiring(one))).payload,
    received: async () => (await chain.algod.holding(payTo, dollar))?.amount ?? 0n,
  }
}

export function idOf({ payload }: PaymentPayload): string {
  return UptoPayment.read(payload).id
}

/** An authorization of an account that does not exist. */
export async function unfunded({ chain, upto }: Pick<Setup, 'chain' | 'upto'>): Promise<PaymentPayload> {
  const signer = newSigner()
  const unsigned = UptoPayment.buildAuthorization({
    payer: signer.address,
    payTo: upto.payTo,
    assetId: dollar,
    maxAmount: BigInt(upto.amount),
    facilitator: String(upto.extra['feePayer']),
    isPublicNetwork: false,
    maxTimeoutSeconds: 60,
    ...(await chain.parameters()),
  })
  const payload = await Signer.signAuthorization(signer, unsigned)
  return { x402Version: 2, accepted: upto, payload } as unknown as PaymentPayload
}

/** The buyer sends dollars to another account. */
export async function spend(market: Market, amount: bigint): Promise<void> {
  const { devnet, signer } = market
  devnet.fund(signer.address, { microAlgos: 1_000_000n })
  const other = newAddress()
  devnet.optIn(other, dollar)
  await send(market, signer, { type: 'axfer', arcv: Address.decode(other), xaid: dollar, aamt: amount })
}

/** Sends a transaction of an account. */
export async function send(
  { chain }: Pick<Market, 'chain'>,
  signer: Signer.Signer,
  fields: Pick<Transaction.Transaction, 'type'> & Partial<Transaction.Transaction>,
): Promise<void> {
  const { lastRound, genesisHash } = await chain.parameters()
  const rounds = { fv: lastRound, lv: lastRound + 10n, gh: genesisHash }
  const snd = Address.decode(signer.sender ?? signer.address)
  const signed = await Signer.signTransaction(signer, { snd, fee: 1_000n, ...rounds, ...fields })
  assert.equal((await chain.algod.submit([signed])).type, 'accepted')
}

/** Lets clocks pass, or sets them back. */
export function shiftClocks(t: TestContext, ms: number): void {
  const [now, date] = [performance.now.bind(performance), Date.now.bind(Date)]
  t.mock.method(performance, 'now', () => now() + Math.max(ms, 0))
  t.mock.method(Date, 'now', () => date() + ms)
}
