/**
 * A reference node in dev mode and a devnet in the same state: equal genesis accounts, rounds, times and counters. Every
 * request is sent to both, and each difference of the responses is kept.
 */
import { Agent, request } from 'node:http'
import { Address, Bytes, Ed25519, Group, Hash, Json, Submission, type Transaction } from '@latchkey/algorand'
import { Devnet } from '@latchkey/devnet'
import type { Random } from './Random.test.helper.js'

type Txn = Transaction.Transaction

/** Where the reference node listens, if the environment names one. */
export const reference = {
  url: process.env['LATCHKEY_REFERENCE_ALGOD'] ?? '',
  token: process.env['LATCHKEY_REFERENCE_ALGOD_TOKEN'] ?? 'a'.repeat(64),
}

export type Person = { readonly publicKey: Uint8Array; readonly secretKey: Uint8Array; readonly address: string }

export type Response = { readonly status: number; readonly bytes: Buffer }

/** A response that differs. */
export type Difference = { readonly what: string; readonly expected: string; readonly actual: string }

export type Outcome = {
  readonly isAccepted: boolean
  readonly isEqual: boolean
  /** The reason of the reference node. */
  readonly message: string
}

class Node {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 })
  readonly #url: URL
  readonly #token: string

  constructor(url: string, token: string) {
    this.#url = new URL(url)
    this.#token = token
  }

  /** Repeats a request that was sent on a connection which the node closed, unless it is a submission. */
  async send(method: string, path: string, body: Uint8Array | string = ''): Promise<Response> {
    const isSubmission = method === 'POST' && path === '/v2/transactions'
    try {
      return await this.#sendOnce(method, path, body, isSubmission ? false : this.#agent)
    } catch (error) {
      if (isSubmission || (error as { code?: string }).code !== 'ECONNRESET') throw error
      return this.#sendOnce(method, path, body, false)
    }
  }

  #sendOnce(method: string, path: string, body: Uint8Array | string, agent: Agent | false): Promise<Response> {
    const { hostname, port } = this.#url
    const headers = { 'X-Algo-API-Token': this.#token, 'Content-Length': Buffer.byteLength(body) }
    return new Promise((resolve, reject) => {
      const sent = request({ agent, hostname, port, method, path, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => resolve({ status: response.statusCode!, bytes: Buffer.concat(chunks) }))
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  async json(path: string): Promise<Json.Members> {
    const { status, bytes } = await this.send('GET', path)
    if (status !== 200) throw new Error(`${path}: ${status} ${bytes}`)
    return Json.parseObject(bytes.toString())!
  }

  close(): void {
    this.#agent.destroy()
  }
}

type Position = { readonly round: bigint; readonly counter: bigint; readonly timestamp: bigint }

const maxGroupSize = 16
const secondsPerBlock = 3n

export class NodePair {
  readonly differences: Difference[] = []
  readonly genesisHash: Uint8Array
  readonly genesisId: string
  readonly #reference: Node
  readonly #devnet: Node
  readonly #server: Devnet
  readonly #funder: Person
  round = 0n
  #notes = 0
  #requests = 0
  #equalBlocks = 0
  #haveEqualHeaders = true

  private constructor(server: Devnet, [referenceNode, devnet]: readonly [Node, Node], genesisId: string) {
    this.#server = server
    this.#reference = referenceNode
    this.#devnet = devnet
    this.genesisHash = Bytes.fromBase64(server.genesisHash)!
    this.genesisId = genesisId
    const secretKey = Buffer.from(server.dispenser.secretKey, 'base64')
    this.#funder = personOf(secretKey.subarray(0, 32))
  }

  /**
   * Starts a devnet next to the reference node, which must have the genesis that `GET /genesis` of a devnet without
   * accounts returns, because programs read the genesis hash and the online accounts.
   */
  static async start(): Promise<NodePair> {
    const server = await Devnet.start({ port: 0, accounts: 0, historyBlocks: 1_000_000 })
    const nodes = [new Node(reference.url, reference.token), new Node(server.url, '')] as const
    const params = await nodes[0].json('/v2/transactions/params')
    if (params['genesis-hash'] !== server.genesisHash) {
      await server.stop()
      throw new Error(`the reference node has the genesis ${params['genesis-hash']}, and not ${server.genesisHash}`)
    }
    const pair = new NodePair(server, nodes, String(params['genesis-id']))
    for (const node of nodes) await node.send('POST', `/v2/devmode/blocks/offset/${secondsPerBlock}`)
    await pair.align()
    return pair
  }

  async stop(): Promise<void> {
    this.#reference.close()
    this.#devnet.close()
    await this.#server.stop()
  }

  get requests(): number {
    return this.#requests
  }

  /** Whether all headers are equal so far, which needs a reference node that starts at its genesis. */
  get haveEqualHeaders(): boolean {
    return this.#haveEqualHeaders
  }

  /** The number of blocks whose bytes are equal, with their headers. */
  get equalBlocks(): number {
    return this.#equalBlocks
  }

  /** Brings both to the same round, counter and time, after a start or a difference. */
  async align(): Promise<void> {
    const [one, other] = await Promise.all([this.#position(this.#reference), this.#position(this.#devnet)])
    const target = meetingPoint([one, other])
    await this.#fill(this.#reference, one, target)
    await this.#fill(this.#devnet, other, target)
    const [reached, own] = await Promise.all([this.#position(this.#reference), this.#position(this.#devnet)])
    this.round = reached.round
    if (reached.timestamp === own.timestamp) return
    this.#server.setTime(reached.timestamp + secondsPerBlock)
    await this.#devnet.send('POST', `/v2/devmode/blocks/offset/${secondsPerBlock}`)
  }

  async #position(node: Node): Promise<Position> {
    const round = (await node.json('/v2/status'))['last-round']
    const { block } = (await node.json(`/v2/blocks/${round}?header-only=true`)) as { block: Json.Members }
    const { tc = 1000, ts = 0 } = block as { tc?: number; ts?: number }
    return { round: BigInt(round as number), counter: BigInt(tc), timestamp: BigInt(ts) }
  }

  /** Sends groups of payments until the node has a round and a counter. */
  async #fill(node: Node, from: Position, to: Pick<Position, 'round' | 'counter'>): Promise<void> {
    let counter = from.counter
    for (let { round } = from; round < to.round; round++) {
      const left = to.round - round
      const spare = to.counter - counter - left
      const size = 1n + (spare > BigInt(maxGroupSize - 1) ? BigInt(maxGroupSize - 1) : spare)
      this.round = round
      const payments = Array.from({ length: Number(size) }, (_, index) =>
        this.txn('pay', this.#funder, { rcv: this.#funder.publicKey, note: Buffer.from(`${round} ${index}`) }),
      )
      const { status, bytes } = await node.send('POST', '/v2/transactions', Bytes.concat(this.sign(payments)))
      if (status !== 200) throw new Error(bytes.toString())
      counter += size
    }
  }

  /** A transaction with its required fields and a unique note. */
  txn(type: string, sender: Person, fields: Partial<Txn> = {}): Txn {
    return {
      type,
      snd: sender.publicKey,
      fee: 1000n,
      fv: this.round === 0n ? undefined : this.round,
      lv: this.round + 1000n,
      gen: this.genesisId,
      gh: this.genesisHash,
      note: Buffer.from(`${this.#notes++}`),
      ...fields,
    }
  }

  readonly #people = new Map<string, Person>()

  /** A new account whose key is known to {@link sign}. */
  person(random: Random): Person {
    const person = personOf(random.bytes(32))
    this.#people.set(person.address, person)
    return person
  }

  /** Makes a group of several transactions and signs them by their senders. */
  sign(txns: readonly Txn[]): Uint8Array[] {
    const grouped = txns.length === 1 ? txns : Group.assign(txns)
    return grouped.map((txn) => this.signOne(txn))
  }

  signOne(txn: Txn): Uint8Array {
    const address = Address.encode(txn.snd)
    const person = address === this.#funder.address ? this.#funder : this.#people.get(address)
    if (person === undefined) throw new Error(`no key of ${address}`)
    const message = Hash.prefixed(Hash.domains.transaction, Submission.transactionBytes(txn))
    return Submission.encode({ txn, sig: Ed25519.sign(message, person.secretKey) })
  }

  /** Pays accounts from the dispenser, and requires success on both. */
  async fund(people: readonly { readonly publicKey: Uint8Array }[], microAlgos: bigint): Promise<void> {
    const payments = people.map(({ publicKey }) => this.txn('pay', this.#funder, { rcv: publicKey, amt: microAlgos }))
    const { isAccepted, message } = await this.submit(this.sign(payments), 'funding')
    if (!isAccepted) throw new Error(message)
  }

  /** Sends a request to both. */
  async both(method: string, path: string, body: Uint8Array | string = ''): Promise<readonly [Response, Response]> {
    this.#requests++
    return Promise.all([this.#reference.send(method, path, body), this.#devnet.send(method, path, body)])
  }

  /** Submits a group to both. If it was accepted, the entries of the block are compared. */
  async submit(group: readonly Uint8Array[], what: string): Promise<Outcome> {
    const [one, other] = await this.both('POST', '/v2/transactions', Bytes.concat(group))
    const message = one.status === 200 ? '' : messageOf(one)
    let isEqual = this.#compare(what, verdictOf(one) + dataOf(one), verdictOf(other) + dataOf(other), group)
    if (one.status === 200 && other.status === 200) {
      this.round++
      isEqual = (await this.#compareBlock(what, group)) && isEqual
    } else if (one.status !== other.status) await this.align()
    return { isAccepted: one.status === 200, isEqual, message }
  }

  async #compareBlock(what: string, group: readonly Uint8Array[]): Promise<boolean> {
    // Once a header differs, all later ones do.
    if (this.#haveEqualHeaders) {
      const [exact, own] = await this.both('GET', `/v2/blocks/${this.round}?format=msgpack`)
      this.#haveEqualHeaders = exact.bytes.equals(own.bytes)
      if (this.#haveEqualHeaders) {
        this.#equalBlocks++
        return true
      }
    }
    const [one, other] = await this.both('GET', `/v2/blocks/${this.round}?format=json`)
    const [a, b] = [blockOf(one), blockOf(other)]
    const isEqual = this.#compare(`${what}: block`, a.text, b.text, group)
    if (a.counter !== b.counter) await this.align()
    return isEqual
  }

  /** Simulates a group on both, and compares the responses. */
  async simulate(group: readonly Uint8Array[], options: object, what: string): Promise<Outcome> {
    const body = simulateBody(group, options)
    const [one, other] = await this.both('POST', '/v2/transactions/simulate?format=json', body)
    const expected = resultOf(one)
    const isEqual = this.#compare(what, expected.text, resultOf(other).text, group, options)
    return { isAccepted: expected.message === '', isEqual, message: expected.message }
  }

  /** Simulates a group on the devnet alone. Returns the reason of a failure, or an empty text. */
  async simulateOnDevnet(group: readonly Uint8Array[]): Promise<string> {
    const body = simulateBody(group, {})
    return resultOf(await this.#devnet.send('POST', '/v2/transactions/simulate?format=json', body)).message
  }

  /** Compares the responses to a GET. */
  async look(path: string, what: string): Promise<Json.Members | undefined> {
    const [one, other] = await this.both('GET', path)
    this.#compare(`${what} ${path}`, lookedUp(one), lookedUp(other), [])
    return one.status === 200 ? Json.parseObject(one.bytes.toString()) : undefined
  }

  /**
   * Assembles on both, and returns the program of the reference node. Its assembler fails without a response if `loads`
   * or `stores` follow a constant that is no slot; such a source is not compared.
   */
  async compile(source: string, what: string): Promise<Uint8Array | undefined> {
    const responses = await this.both('POST', '/v2/teal/compile', source).catch((error: { code?: string }) => {
      if (error.code !== 'ECONNRESET') throw error
    })
    if (responses === undefined) return undefined
    const [one, other] = responses
    this.#compare(what, `${one.status} ${one.bytes}`, `${other.status} ${other.bytes}`, [], { source })
    if (one.status !== 200) return undefined
    return Bytes.fromBase64(String(Json.parseObject(one.bytes.toString())!['result']))
  }

  /** Disassembles on both. */
  async disassemble(program: Uint8Array, what: string): Promise<void> {
    const [one, other] = await this.both('POST', '/v2/teal/disassemble', program)
    const options = { program: Bytes.toHex(program) }
    this.#compare(what, `${one.status} ${one.bytes}`, `${other.status} ${other.bytes}`, [], options)
  }

  #compare(
    what: string,
    expected: string,
    actual: string,
    group: readonly Uint8Array[],
    options: object = {},
  ): boolean {
    if (expected === actual) return true
    // The explanation of a traced instruction ends the program of the reference node; the devnet's fails as well.
    if (expected.includes('panic in TEAL Eval') && /failure-message|rollback-error/.test(actual)) return true
    const sent = group.map((bytes) => Buffer.from(bytes).toString('base64'))
    this.differences.push({ what: `${what} ${JSON.stringify({ sent, ...options })}`, expected, actual })
    return false
  }
}

/** The first round and counter that groups of 1 to 16 payments lead to from each of the positions. */
function meetingPoint(positions: readonly Pick<Position, 'round' | 'counter'>[]): Pick<Position, 'round' | 'counter'> {
  const first = max(positions.map(({ round }) => round))
  for (let round = first + 1n; ; round++) {
    const counter = max(positions.map((one) => one.counter + round - one.round))
    const isNear = positions.every((one) => counter - one.counter <= (round - one.round) * BigInt(maxGroupSize))
    if (isNear) return { round, counter }
  }
}

const max = (values: readonly bigint[]): bigint => values.reduce((a, b) => (a > b ? a : b))

export function personOf(seed: Uint8Array): Person {
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(new Uint8Array(seed))
  return { publicKey, secretKey, address: Address.encode(publicKey) }
}

function messageOf({ bytes }: Response): string {
  return String(Json.parseObject(bytes.toString())?.['message'] ?? bytes)
}

function verdictOf(response: Response): string {
  return response.status === 200 ? 'accepted' : `${response.status} ${errorText(messageOf(response))}`
}

/** The state of the programs of a refused group. */
function dataOf({ status, bytes }: Response): string {
  if (status === 200) return ''
  return ` ${canonical(normalized(Json.parseObject(bytes.toString())?.['data'] ?? {}))}`
}

function blockOf({ bytes }: Response): { text: string; counter: string } {
  const { block } = Json.parseObject(bytes.toString()) as { block: Json.Members }
  const { txns, tc, ts, fc, rnd } = block
  return { text: canonical(normalized({ txns, tc, ts, fc, rnd })), counter: String(tc) }
}

function resultOf(response: Response): { text: string; message: string } {
  const text = response.bytes.toString()
  if (response.status !== 200) return { text: verdictOf(response), message: messageOf(response) }
  const value = Json.parseObject(text)!
  const [group] = value['txn-groups'] as [{ 'failure-message'?: string }]
  return { text: canonical(normalized(value)), message: group['failure-message'] ?? '' }
}

function lookedUp({ status, bytes }: Response): string {
  return `${status} ${canonical(normalized(Json.parse(bytes.toString())))}`
}

function simulateBody(group: readonly Uint8Array[], options: object): Uint8Array {
  const txns = group.map((bytes) => Submission.toJson(Submission.decodeFirst(bytes).signed))
  const text = JSON.stringify({ ...options, 'txn-groups': [{ txns }] }, (_, value) =>
    typeof value === 'bigint' ? `#${value}#` : value,
  )
  return Buffer.from(text.replace(/"#([0-9]+)#"/g, '$1'))
}

/** Go's dumps of whole transactions and accounts are out of reach; nothing takes their place. */
function errorText(text: string): string {
  return text
    .replace(/transaction \{.*\} invalid : /s, 'transaction {} invalid : ')
    .replace(/data \{.*\}, tried to spend/s, 'data {}, tried to spend')
    .replace(/ during assignment &\{.*?(?=\. Details)/s, ' during assignment')
    .replace(/ \[\]transactions\.SignedTxnWithAD\{.*\}(?=\. Details)/s, '')
}

/** Lists that nodes send in no order are sorted. Hints are the devnet's own. */
function normalized(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return messages.has(name) ? errorText(value) : value
  if (Array.isArray(value)) {
    const list = value.map((one) => normalized(one))
    return unordered.has(name) ? list.sort((a, b) => (canonical(a) < canonical(b) ? -1 : 1)) : list
  }
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([key]) => key !== 'hint')
  return Object.fromEntries(members.map(([key, one]) => [key, normalized(one, key)]))
}

const messages = new Set(['failure-message', 'inner-msg'])

const unordered = new Set([
  ...['app-initial-states', 'kvs', 'app-locals', 'accounts', 'apps', 'assets', 'boxes', 'asset-holdings'],
  // A node collects the written state of applications in a map.
  'AppResources',
  ...['global-state-delta', 'local-state-delta', 'delta', 'global-state', 'key-value'],
])

/** Text with sorted members. */
function canonical(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join(',')}}`
}
