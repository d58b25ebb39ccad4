/** An agent in a temporary directory, with a clock set by the test, and the transactions that it signs. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Address, Bytes, Ed25519, Network, Transaction, UptoProgram, type UptoTerms } from '@latchkey/algorand'
import * as Libsodium from '@latchkey/algorand/sodium'
import type { Limit, Rules } from '@latchkey/kmd-api/rules'
import { fileName, type OpenStateOptions, openState, type State } from '../state/openState.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import type { AgentSession, Agents, Claim, GrantedKey, NewAgent } from './Agents.js'

export const network = Network.testnet.genesisHash
export const usdc = Network.testnet.usdcAssetId!
export const walletId = '0123456789abcdef0123456789abcdef'

/** A key by number, the same in every process. */
export function keyOf(number: number): GrantedKey & { publicKey: Uint8Array } {
  Libsodium.load()
  const seed = createHash('sha256').update(`key ${number}`).digest()
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(seed)
  return { address: Address.encode(publicKey), privateKey: Buffer.from(secretKey), publicKey }
}

export const key = keyOf(1)
export const payee = keyOf(1_000)
export const stranger = keyOf(2_000)

export function limit(per: Limit['per'], amount: bigint, assetId = 0n, to?: string): Limit {
  return { type: 'amount', per, network, assetId, amount, ...(to === undefined ? {} : { payee: to }) }
}

export function count(per: Limit['per'], number: number): Limit {
  return { type: 'count', per, network, count: number }
}

export function rulesOf(limits: readonly Limit[], rules: Partial<Rules> = {}): Rules {
  return {
    networks: [network],
    limits,
    payees: { allow: 'all', deny: [] },
    applications: [],
    optIns: [],
    dollars: [],
    maxFeeMicroAlgos: 10_000n,
    maxValidRounds: 1_000,
    ask: { above: [], overLimit: false, unknownPayee: false, otherTypes: false },
    ...rules,
  }
}

export type Fields = Partial<Transaction.Transaction>

let notes = 0

/** A unique payment. */
export function pay(amount: bigint, fields: Fields = {}): Transaction.Canonical {
  return transaction({ type: 'pay', rcv: payee.publicKey, amt: amount, ...fields })
}

export function transfer(amount: bigint, fields: Fields = {}): Transaction.Canonical {
  return transaction({ type: 'axfer', xaid: usdc, arcv: payee.publicKey, aamt: amount, ...fields })
}

export function transaction(fields: Fields & { type: string }): Transaction.Canonical {
  const common = { snd: key.publicKey, fv: 1n, lv: 1_000n, gh: Bytes.fromBase64(network)! }
  const note = new TextEncoder().encode(`${process.pid} ${notes++}`)
  return Transaction.canonicalize(Transaction.encode({ ...common, note, ...fields }))
}

export type Fixture = State & {
  directory: string
  stateFile: string
  agents: Agents
  clock: { nowMs: number }
  create: (
    limits: readonly Limit[],
    more?: Partial<Rules> & Partial<Pick<NewAgent, 'name' | 'expiresAtMs'>>,
  ) => Promise<Granted>
  /** Signs with the token, in a separate session. */
  sign: (token: string, transaction: Transaction.Canonical, signer?: Uint8Array) => Promise<Uint8Array>
  /** Signs an authorization with the token, in a separate session. */
  signUpto: (token: string, terms: UptoTerms, claim?: Claim) => Promise<Uint8Array>
}

export type Granted = { id: string; token: string }

let authorizations = 0

/** The terms of a unique authorization of the maximum, to the payee and in USDC. */
export function uptoTerms(maxAmount: bigint, terms: Partial<Omit<UptoTerms, 'lease'>> = {}): UptoTerms {
  const parties = { payer: key.address, payTo: payee.address, facilitator: stranger.address }
  const own = {
    ...parties,
    assetId: usdc,
    maxAmount,
    lastValid: 100n,
    genesisHash: Bytes.fromBase64(network)!,
    ...terms,
  }
  const nonce = new Uint8Array(UptoProgram.nonceLength)
  new DataView(nonce.buffer).setUint32(0, ++authorizations)
  return { ...own, lease: UptoProgram.leaseOf(own, nonce) }
}

export const startMs = 1_800_000_000_000

export function openAgents(
  t: Pick<TestContext, 'after'>,
  directory = temporaryDirectory(t),
  options: Pick<OpenStateOptions, 'onDamage'> = {},
): Fixture {
  const clock = { nowMs: startMs }
  const state = openState({ directory, now: () => clock.nowMs, elapsed: () => 0, ...options })
  t.after(state.close)
  const { agents } = state
  const create: Fixture['create'] = async (limits, { name = 'shopper', expiresAtMs, ...rules } = {}) => {
    const granted = { ...key, privateKey: Buffer.from(key.privateKey) }
    const made = await agents.create({ name, walletId, keys: [granted], rules: rulesOf(limits, rules), expiresAtMs })
    return { id: made.agent.id, token: made.token }
  }
  const inSession = async <T>(token: string, work: (session: AgentSession) => Promise<T>): Promise<T> => {
    const session = agents.authenticate(token)
    if (session === undefined) throw new Error('no such token')
    try {
      return await work(session)
    } finally {
      agents.release(session)
    }
  }
  const sign: Fixture['sign'] = (token, transactionToSign, signer = key.publicKey) =>
    inSession(token, (session) => agents.sign(session, transactionToSign, signer, {}))
  const signUpto: Fixture['signUpto'] = (token, terms, claim = {}) =>
    inSession(token, (session) => agents.signUpto(session, terms, key.publicKey, claim))
  return { ...state, directory, stateFile: join(directory, fileName), clock, create, sign, signUpto }
}
