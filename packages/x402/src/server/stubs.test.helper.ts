/** A chain, a facilitator and payments, without a network. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TransactionState } from '@latchkey/algod'
import { Address, Ed25519, Network } from '@latchkey/algorand'
import {
  buildPayment,
  PaymentGroup,
  PaymentHeaders,
  type PaymentPayload,
  type PaymentRequired,
  type PaymentRequirements,
} from '@latchkey/x402-wire'
import { Chain } from '../chain/Chain.js'
import type { Admission, Decision } from './exchange/Admission.js'
import type { FacilitatorClient } from './exchange/FacilitatorClient.js'
import { Gate } from './gate/Gate.js'
import type { GateOptions } from './gate/GateOptions.js'

export const network = Network.testnet.caip2
export const usdc = '10458941'

export function address(): string {
  return Address.encode(Ed25519.keyPairFromSeed(randomBytes(32)).publicKey)
}

export const seller = address()
export const feePayer = address()
const payer = address()

export type Ledger = {
  round: bigint
  transactions: Map<string, TransactionState>
  isDown: boolean
  /** The transactions of blocks by round, as a node's JSON. Other blocks are empty. */
  blocks: Map<number, readonly object[]>
  /** The node has no earlier block. */
  firstBlock: number
  blockReads: number
}

/** TestNet by its id, on a fake node. */
export async function stubChain(ledger: Ledger, quorum = 1): Promise<Chain> {
  const respond = (status: number, value: object): Response => new Response(JSON.stringify(value), { status })
  return Chain.open({
    network: 'testnet',
    nodes: Array.from({ length: quorum }, (_, index) => `http://node${index === 0 ? '' : index}.invalid`),
    quorum,
    fetch: (async (input: string | URL | Request) => {
      if (ledger.isDown) throw new TypeError('no node')
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      if (pathname.endsWith('/params')) return respond(200, parametersAt(ledger.round))
      if (pathname.startsWith('/v2/accounts/')) {
        const [, assetId] = /\/assets\/(\d+)$/.exec(pathname) ?? []
        if (!pathname.includes(seller)) return respond(404, { message: 'no such holding' })
        return respond(200, {
          round: 1,
          'asset-holding': { amount: 0, 'asset-id': Number(assetId), 'is-frozen': false },
        })
      }
      const [, block] = /^\/v2\/blocks\/([0-9]+)$/.exec(pathname) ?? []
      if (block !== undefined) {
        ledger.blockReads++
        const isThere = Number(block) >= ledger.firstBlock && BigInt(block) <= ledger.round
        if (!isThere || String(input).includes('node1')) return respond(404, { message: 'no such block' })
        return respond(200, { block: { txns: (ledger.blocks.get(Number(block)) ?? []).map((txn) => ({ txn })) } })
      }
      const found = ledger.transactions.get(pathname.split('/').at(-1)!)
      if (pathname.startsWith('/v2/transactions/pending/') && found !== undefined) {
        return respond(200, {
          'pool-error': '',
          'confirmed-round': found.type === 'confirmed' ? Number(found.round) : 0,
          txn: {},
        })
      }
      return respond(404, { message: 'not found' })
    }) as typeof fetch,
  })
}

/** A separate network, on a fake node that has every account and no dollar. */
export function localChain(seed: number): Promise<Chain> {
  return Chain.open({
    network: 'local',
    fetch: (async (input: string | URL | Request) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      const hash = Buffer.alloc(32, seed).toString('base64')
      if (pathname.endsWith('/params')) {
        return Response.json({ ...parametersAt(1_000n), 'genesis-hash': hash, 'genesis-id': 'local-v1' })
      }
      return Response.json({ message: 'not found' }, { status: 404 })
    }) as typeof fetch,
  })
}

function parametersAt(round: bigint): object {
  return {
    'consensus-version': 'x',
    fee: 0,
    'genesis-hash': Network.testnet.genesisHash,
    'genesis-id': Network.testnet.genesisId,
    'last-round': Number(round),
    'min-fee': 1000,
  }
}

export function newLedger(): Ledger {
  const blocks = { blocks: new Map(), firstBlock: 0, blockReads: 0 }
  return { round: 1_000n, transactions: new Map(), isDown: false, ...blocks }
}

/** Accepts everything, and puts settled payments into the ledger. */
export function stubFacilitator(ledger: Ledger, changes: Partial<FacilitatorClient> = {}): FacilitatorClient {
  return {
    name: 'stub',
    isTrusted: true,
    verify: async () => ({ isValid: true, payer }),
    settle: async ({ payload }, requirements) => {
      const transaction = PaymentGroup.read(payload).transactionId
      ledger.transactions.set(transaction, { type: 'confirmed', round: ledger.round })
      return { success: true, transaction, network: requirements.network, payer }
    },
    supported: () => ({
      kinds: [{ x402Version: 2, scheme: 'exact', network: network as never, extra: { feePayer } }],
      extensions: [],
      signers: { 'algorand:*': [feePayer] },
    }),
    ...changes,
  }
}

export const price = { network: 'testnet', price: '$0.01', payTo: seller } as const

export async function stubGate(options: Partial<GateOptions> = {}, ledger = newLedger()) {
  const chain = await stubChain(ledger)
  const routes = { 'GET /a': { accepts: price } }
  const facilitators = stubFacilitator(ledger)
  const gate = await Gate.open({ routes, facilitators, chains: chain, onError: () => {}, ...options })
  return { gate, ledger, chain }
}

export function ask(path: string, payment?: string, init: RequestInit = {}): Request {
  const headers = new Headers(init.headers)
  if (payment !== undefined) headers.set('PAYMENT-SIGNATURE', payment)
  return new Request(`http://shop.example${path}`, { ...init, headers })
}

export function requiredIn(response: Response): PaymentRequired {
  return PaymentHeaders.decodeRequired(response.headers.get('PAYMENT-REQUIRED')!)
}

/** An unsigned payment for the first offer, which the stub facilitator accepts. */
export function paymentFor(
  required: PaymentRequired,
  chain: Chain,
  { accepted = required.accepts[0]!, round = 1_000n }: { accepted?: PaymentRequirements; round?: bigint } = {},
): { header: string; payload: PaymentPayload; transactionId: string } {
  const [offer] = required.accepts
  const { genesisHash } = chain
  const { encoded, paymentIndex, transactionId } = buildPayment({
    parameters: {
      lastRound: round,
      genesisId: Network.testnet.genesisId,
      genesisHash,
      minFee: 1_000n,
      feePerByte: 0n,
    },
    payer,
    payTo: offer!.payTo,
    assetId: BigInt(offer!.asset),
    amount: BigInt(offer!.amount),
    feePayer,
    maxTimeoutSeconds: offer!.maxTimeoutSeconds,
    isPublicNetwork: true,
  })
  const group = PaymentGroup.toPayload(encoded, paymentIndex)
  const payload = { x402Version: 2, resource: required.resource, accepted, payload: group } as unknown as PaymentPayload
  return { header: PaymentHeaders.encode(payload), payload, transactionId }
}

/** The response of a handler. */
export const answer = { status: 200, headers: [], body: new Uint8Array(Buffer.from('goods')) }

export function responseOf(decision: Decision): Response {
  assert.equal(decision.type, 'response')
  return (decision as { response: Response }).response
}

export function admitted(decision: Decision): Admission {
  assert.equal(decision.type, 'paid')
  return (decision as { admission: Admission }).admission
}

export async function priced(world: Awaited<ReturnType<typeof stubGate>>, path = '/a'): Promise<PaymentRequired> {
  return requiredIn(responseOf(await world.gate.decide(ask(path))))
}
