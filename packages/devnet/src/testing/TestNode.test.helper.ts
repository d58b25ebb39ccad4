/** A devnet without a port, people with keys, and transactions they sign. */
import assert from 'node:assert/strict'
import { Address, Ed25519, Group, Hash, type Multisig, Submission, Transaction } from '@latchkey/algorand'
import { dropConnection, type RawAnswer, type RawHandler } from '@latchkey/http'
import algosdk from 'algosdk'
import { type BlockMode, DevnetNode } from '../DevnetNode.js'
import * as Genesis from '../ledger/Genesis.js'
import { Ledger, type LedgerOptions } from '../ledger/Ledger.js'
import * as MapKey from '../ledger/MapKey.js'
import * as RequestHandler from '../RequestHandler.js'

type Txn = Transaction.Transaction
export type Person = { publicKey: Uint8Array; secretKey: Uint8Array; key: MapKey.MapKey; address: string }

export type TestNodeOptions = Partial<Omit<LedgerOptions, 'genesis'>> & {
  blocks?: BlockMode
  token?: string
  accountCount?: number
  /** Replaces the genesis of this devnet. */
  genesis?: (own: Genesis.Genesis) => Genesis.Genesis
  onLine?: (line: string) => void
}

export type TestResponse = {
  status: number
  header: (name: string) => string | undefined
  bytes: Uint8Array
  text: string
  /** Integers above 2^53 are not exact here. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of any type
  json: any
}

export class TestNode {
  readonly ledger: Ledger
  readonly node: DevnetNode
  readonly genesis: Genesis.Genesis
  readonly handle: RawHandler
  readonly errors: unknown[] = []
  #notes = 0

  constructor({ blocks = 'instant', token, accountCount = 3, onLine, genesis, ...ledger }: TestNodeOptions = {}) {
    const own = Genesis.make({ accountCount })
    this.genesis = genesis?.(own) ?? own
    this.ledger = new Ledger({ ...ledger, genesis: this.genesis })
    this.node = new DevnetNode({ ledger: this.ledger, blocks, onLine })
    this.handle = RequestHandler.create({ node: this.node, token, onError: (error) => this.errors.push(error) })
  }

  /** One of the accounts that are funded at genesis. */
  funded(index: number): Person {
    return personOf(Buffer.from(this.genesis.accounts[index]!.secretKey, 'base64').subarray(0, 32))
  }

  get dispenser(): Person {
    return personOf(Buffer.from(this.genesis.dispenser.secretKey, 'base64').subarray(0, 32))
  }

  get faucet(): Person {
    return personOf(Buffer.from(this.genesis.faucet.secretKey, 'base64').subarray(0, 32))
  }

  /** A transaction with its required fields and a unique note. */
  txn(type: string, sender: Person | Uint8Array, fields: Partial<Txn> = {}): Txn {
    const { chain } = this.genesis
    return {
      type,
      snd: sender instanceof Uint8Array ? sender : sender.publicKey,
      fee: 1000n,
      fv: this.ledger.last.round === 0n ? undefined : this.ledger.last.round,
      lv: this.ledger.last.round + 1000n,
      gen: chain.genesisId,
      gh: MapKey.bytes(chain.genesisHash),
      note: new Uint8Array(Buffer.from(`${this.#notes++}`)),
      ...fields,
    }
  }

  pay(from: Person, to: Person | undefined, amt: bigint, fields: Partial<Txn> = {}): Txn {
    return this.txn('pay', from, { rcv: to?.publicKey, amt: amt === 0n ? undefined : amt, ...fields })
  }

  async call(
    method: string,
    target: string,
    { body, headers = {}, remote = '127.0.0.1' }: CallOptions = {},
  ): Promise<TestResponse | typeof dropConnection> {
    const all: { [name: string]: string } = { host: '127.0.0.1:4001', ...headers }
    const response: RawAnswer = await this.handle({
      method,
      target,
      header: (name) => all[name],
      remoteAddress: () => remote,
      body: () => Buffer.from(body ?? ''),
    })
    return response === dropConnection ? dropConnection : testResponseOf(response)
  }

  async get(target: string, options: CallOptions = {}): Promise<TestResponse> {
    return expectResponse(await this.call('GET', target, options))
  }

  async post(
    target: string,
    body: Uint8Array | string | object = '',
    options: CallOptions = {},
  ): Promise<TestResponse> {
    const sent = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
    return expectResponse(await this.call('POST', target, { ...options, body: sent }))
  }

  submit(...signed: Uint8Array[]): Promise<TestResponse> {
    return this.post('/v2/transactions', Buffer.concat(signed))
  }

  simulate(signed: readonly Uint8Array[], options: { [name: string]: unknown } = {}): Promise<TestResponse> {
    return this.post('/v2/transactions/simulate', simulateBody(signed, options))
  }

  /** Submits and expects success. */
  async send(...signed: Uint8Array[]): Promise<string> {
    const response = await this.submit(...signed)
    if (response.status !== 200) throw new Error(`${response.status} ${response.text}`)
    return response.json.txId as string
  }
}

export type CallOptions = {
  body?: Uint8Array | string
  headers?: { [lowerCaseName: string]: string }
  remote?: string
}

function expectResponse(response: TestResponse | typeof dropConnection): TestResponse {
  if (response === dropConnection) throw new Error('the connection was dropped')
  return response
}

export function testResponseOf({ status, headers, body }: Exclude<RawAnswer, typeof dropConnection>): TestResponse {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const text = Buffer.from(bytes).toString('utf8')
  return {
    status,
    header: (name) => {
      const at = headers.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === name)
      return at < 0 ? undefined : headers[at + 1]
    },
    bytes,
    text,
    get json() {
      return JSON.parse(text)
    },
  }
}

/** Returns the person with this seed. A number stands for 32 times that byte. */
export function personOf(seed: Uint8Array | number): Person {
  const bytes = typeof seed === 'number' ? new Uint8Array(32).fill(seed) : seed
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(new Uint8Array(bytes))
  return { publicKey, secretKey, key: MapKey.of(publicKey), address: Address.encode(publicKey) }
}

/** Signs a transaction, which names a signer other than the sender. */
export function sign(txn: Txn, signer: Person): Uint8Array {
  const sig = Ed25519.sign(Hash.prefixed(Hash.domains.transaction, Submission.transactionBytes(txn)), signer.secretKey)
  const isSender = MapKey.of(txn.snd) === signer.key
  return Submission.encode({ sig, txn, sgnr: isSender ? undefined : signer.publicKey })
}

/** Signs with some members of a multisig account. */
export function signMultisig(txn: Txn, multisig: Multisig.Multisig, signers: readonly Person[]): Uint8Array {
  const message = Hash.prefixed(Hash.domains.transaction, Submission.transactionBytes(txn))
  const subsig = multisig.publicKeys.map((pk) => {
    const signer = signers.find(({ key }) => key === MapKey.of(pk))
    return signer === undefined ? { pk } : { pk, s: Ed25519.sign(message, signer.secretKey) }
  })
  return Submission.encode({ msig: { v: multisig.version, thr: multisig.threshold, subsig }, txn })
}

export function unsigned(txn: Txn): Uint8Array {
  return Submission.encode({ txn })
}

/** Returns the same transactions in one group, each signed by its person. */
export function signGroup(members: readonly (readonly [Txn, Person])[]): Uint8Array[] {
  return Group.assign(members.map(([txn]) => txn)).map((txn, index) => sign(txn, members[index]![1]))
}

/** The body of a simulation, in JSON. */
export function simulateBody(signed: readonly Uint8Array[], options: { [name: string]: unknown } = {}): Uint8Array {
  const text = JSON.stringify(
    {
      ...options,
      'txn-groups': [{ txns: signed.map((bytes) => Submission.toJson(Submission.decodeFirst(bytes).signed)) }],
    },
    (_, value) => (typeof value === 'bigint' ? `#${value}#` : value),
  )
  return Buffer.from(text.replace(/"#([0-9]+)#"/g, '$1'))
}

/** Funds a person from the faucet. */
export function fund(node: TestNode, to: Person, microAlgos: bigint, assets: readonly Held[] = []): Person {
  node.ledger.fund({ type: 'fund', to: to.key, microAlgos, assets })
  return to
}

export type Held = { assetId: bigint; amount: bigint }

/** The id of a new asset. */
export async function createAsset(node: TestNode, creator: Person, apar?: Txn['apar']): Promise<bigint> {
  await node.send(sign(node.txn('acfg', creator, { apar }), creator))
  return node.ledger.state.transactionCount()
}

/** The check that rejects the group, which determines the wording. */
export type RejectionKind = 'malformed' | 'unsigned' | 'group' | 'incomplete' | 'signature' | 'bare' | 'state'

export type ExpectedRejection = { kind: RejectionKind; reason: string; at?: number }

/** Simulates and submits a group that must be rejected, each with its own wording, without changing the state. */
export async function expectRejection(
  node: TestNode,
  signed: readonly Uint8Array[],
  { kind, reason, at = 0 }: ExpectedRejection,
): Promise<void> {
  const { txn } = Submission.decodeFirst(signed[at]!).signed
  const id = Transaction.id(Submission.transactionBytes(txn))
  const invalid = `transaction {${id}} invalid : ${reason}`
  const evaluated = kind === 'state' ? `transaction ${id}: ${reason}` : reason
  const before = structuredClone(node.ledger.snapshot())

  const simulated = await node.simulate(signed)
  if (kind === 'incomplete' || kind === 'signature') {
    assert.deepEqual([simulated.status, simulated.json.message], [400, reason])
  } else {
    const group = simulated.json['txn-groups']?.[0]
    const message = kind === 'unsigned' ? invalid : evaluated
    assert.deepEqual([simulated.status, group?.['failure-message']], [200, message], simulated.text)
    assert.deepEqual(group['failed-at'], [at])
  }

  const submitted = await node.submit(...signed)
  const isInvalid = kind === 'malformed' || kind === 'unsigned'
  const isPool = kind === 'bare' || kind === 'state'
  const message = isInvalid ? invalid : isPool ? `TransactionPool.Remember: ${evaluated}` : reason
  assert.deepEqual([submitted.status, submitted.json.message], [400, message])
  assert.deepEqual(structuredClone(node.ledger.snapshot()), before)
}

/** Decodes msgpack: maps with text keys become objects, bytes become base64 after `bin:`. */
// biome-ignore lint/suspicious/noExplicitAny: tests read members of any type
export function decoded(bytes: Uint8Array): any {
  return plain(algosdk.msgpackRawDecodeAsMap(bytes, { intDecoding: algosdk.IntDecoding.BIGINT }))
}

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bin:${Buffer.from(value).toString('base64')}`
  if (Array.isArray(value)) return value.map(plain)
  if (!(value instanceof Map)) return value
  const members = [...value].map(([name, member]) => [name, plain(member)] as const)
  return members.every(([name]) => typeof name === 'string') ? Object.fromEntries(members) : new Map(members)
}

/** Formats bytes like `decoded`. */
export function bin(bytes: Uint8Array): string {
  return `bin:${Buffer.from(bytes).toString('base64')}`
}

/** The text of a response with this status and content type. */
export function expectText({ status, header, text }: TestResponse, wanted = 200, type = 'application/json'): string {
  if (status !== wanted || header('content-type') !== type)
    throw new Error(`${status} ${header('content-type')} ${text}`)
  return text
}

/** The message of an error response with this status. */
export function errorMessageOf(response: TestResponse, wanted = 400): string {
  return JSON.parse(expectText(response, wanted)).message as string
}

/** Returns the headers of a response by lower-case name. */
export async function headersOf(
  { handle }: TestNode,
  method: string,
  target: string,
  { body, headers = {}, remote = '127.0.0.1' }: CallOptions = {},
): Promise<{ [lowerCaseName: string]: string }> {
  const all: { [name: string]: string } = { host: '127.0.0.1:4001', ...headers }
  const response = await handle({
    method,
    target,
    header: (name) => all[name],
    remoteAddress: () => remote,
    body: () => Buffer.from(body ?? ''),
  })
  if (response === dropConnection) throw new Error('the connection was dropped')
  const pairs = response.headers.flatMap((name, index) => {
    return index % 2 === 0 ? [[name.toLowerCase(), response.headers[index + 1]!] as const] : []
  })
  return Object.fromEntries(pairs)
}
