/** Drives the algod under measurement at a given address: our devnet, or any other algod in dev mode. */
import { Address, Bytes, Ed25519, Group, Mnemonic, Msgpack, Submission, Transaction } from '@latchkey/algorand'

export type Payer = { publicKey: Uint8Array; secretKey: Uint8Array }

/** The fields of a transaction apart from its sender, its validity and the network. */
export type Fields = Partial<Transaction.Transaction> & Pick<Transaction.Transaction, 'type'>

/** The members of a simulation result that are checked. */
export type SimulatedGroup = { 'app-budget-consumed'?: number; 'failure-message'?: string }

/** The payers sign alternately, so a cache for one account does not decide the result. */
const payerCount = 100
const payerMicroAlgos = 10_000_000_000n
const windowRounds = 1_000n
const feeMicroAlgos = 1_000n

export class Algod {
  readonly port: number
  readonly payers: readonly Payer[]
  readonly #token: string
  #genesis: { gen: string; gh: Uint8Array } | undefined
  #amount = 0n

  constructor(port: number, token: string) {
    this.port = port
    this.#token = token
    this.payers = Array.from({ length: payerCount }, (_, index) =>
      Ed25519.keyPairFromSeed(new Uint8Array(32).fill(index + 1)),
    )
  }

  async round(): Promise<bigint> {
    const parameters = (await this.get('/v2/transactions/params')) as Record<string, string | number>
    this.#genesis ??= {
      gen: parameters['genesis-id'] as string,
      gh: new Uint8Array(Buffer.from(parameters['genesis-hash'] as string, 'base64')),
    }
    return BigInt(parameters['last-round']!)
  }

  async balance(payer: Payer): Promise<bigint> {
    const account = (await this.get(`/v2/accounts/${Address.encode(payer.publicKey)}`)) as { amount: number }
    return BigInt(account.amount)
  }

  /** Funds every payer from the account of a mnemonic. */
  async fundPayers(mnemonic: string): Promise<void> {
    const funder = Ed25519.keyPairFromSeed(Mnemonic.decode(mnemonic))
    for (const { publicKey } of this.payers) {
      await this.accept([{ type: 'pay', rcv: publicKey, amt: payerMicroAlgos }], funder)
    }
  }

  /**
   * Returns payments for as many future rounds, assuming that every payment makes a round. Each payment is valid around
   * the round in which it will arrive, because a transaction is valid for a thousand rounds at most.
   *
   * @param from the round before the first payment. @default the last round
   */
  async payments(count: number, from?: bigint): Promise<Uint8Array[]> {
    return (await this.signedPayments(count, from)).map((signed) => this.#request(signed))
  }

  /** The same payments without the requests around them. */
  signedPayments(count: number, from?: bigint): Promise<Uint8Array[]> {
    return this.#signedRounds(count, from, (payer) => {
      const receiver = this.payers[(payer + 1) % payerCount]!.publicKey
      return [{ type: 'pay', rcv: receiver, amt: ++this.#amount }]
    })
  }

  /** Returns submissions of a group for as many future rounds. The payers send its members alternately. */
  async submissions(count: number, group: readonly Fields[]): Promise<Uint8Array[]> {
    return (await this.#signedRounds(count, undefined, () => group)).map((signed) => this.#request(signed))
  }

  async #signedRounds(
    count: number,
    from: bigint | undefined,
    groupOf: (payer: number) => readonly Fields[],
  ): Promise<Uint8Array[]> {
    const round = from ?? (await this.round())
    return Array.from({ length: count }, (_, index) => {
      const first = round + BigInt(Math.max(0, index - Number(windowRounds) / 2))
      const payer = index % payerCount
      return this.#sign(groupOf(payer), first, (member) => this.payers[(payer + member) % payerCount]!)
    })
  }

  /** Returns the status of the response. */
  async submit(signed: Uint8Array): Promise<number> {
    return (await this.#post('/v2/transactions', signed)).status
  }

  /** Submits a group of one sender, and throws unless it is accepted. Returns the response. */
  async accept(group: readonly Fields[], sender: Payer): Promise<{ readonly txId: string }> {
    const signed = this.#sign(group, await this.round(), () => sender)
    const { status, text } = await this.#post('/v2/transactions', signed)
    if (status !== 200) throw new Error(`a submission was answered with status ${status}: ${text}`)
    return JSON.parse(text) as { txId: string }
  }

  /** Simulates a group of the first payer. */
  async simulate(group: readonly Fields[]): Promise<SimulatedGroup> {
    const signed = this.#sign(group, await this.round(), () => this.payers[0]!)
    const writer = new Msgpack.Writer().mapHeader(1).str('txn-groups').arrayHeader(1)
    writer.mapHeader(1).str('txns').arrayHeader(group.length).raw(signed)
    const { status, text } = await this.#post('/v2/transactions/simulate?format=json', writer.bytes())
    if (status !== 200) throw new Error(`a simulation was answered with status ${status}: ${text}`)
    const { 'txn-groups': groups } = JSON.parse(text) as { 'txn-groups': SimulatedGroup[] }
    return groups[0]!
  }

  /** Assembles a program. */
  async compile(source: string): Promise<Uint8Array> {
    const { status, text } = await this.#post('/v2/teal/compile', Buffer.from(source))
    if (status !== 200) throw new Error(`a program was answered with status ${status}: ${text}`)
    return Buffer.from((JSON.parse(text) as { result: string }).result, 'base64')
  }

  /** Throws unless a payment with a wrong signature is refused: otherwise the measurement would be meaningless. */
  async checkThatSignaturesCount(): Promise<void> {
    const receiver = this.payers[1]!.publicKey
    const payment: Fields = { type: 'pay', rcv: receiver, amt: 1n }
    const { signed } = Submission.decodeFirst(this.#sign([payment], await this.round(), () => this.payers[0]!))
    const sig = signed.sig!.map((byte, index) => (index === 0 ? byte ^ 1 : byte))
    const status = await this.submit(Submission.encode({ ...signed, sig }))
    if (status !== 400) throw new Error(`a payment with a wrong signature was answered with status ${status}`)
  }

  async get(path: string): Promise<unknown> {
    const answer = await fetch(`${this.#url}${path}`, { headers: { 'X-Algo-API-Token': this.#token } })
    if (answer.status !== 200) throw new Error(`${path} was answered with status ${answer.status}`)
    return answer.json()
  }

  get #url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async #post(path: string, body: Uint8Array): Promise<{ status: number; text: string }> {
    const headers = { 'X-Algo-API-Token': this.#token, 'Content-Type': 'application/x-binary' }
    const answer = await fetch(`${this.#url}${path}`, { method: 'POST', headers, body: Buffer.from(body) })
    return { status: answer.status, text: await answer.text() }
  }

  #sign(group: readonly Fields[], firstValid: bigint, senderOf: (member: number) => Payer): Uint8Array {
    const transactions = group.map((fields, member) => ({
      fee: feeMicroAlgos,
      ...fields,
      snd: senderOf(member).publicKey,
      fv: firstValid,
      lv: firstValid + windowRounds,
      ...this.#genesis,
      note: new Uint8Array(Buffer.from(`${process.pid} ${member} ${performance.now()}`)),
    }))
    const members = transactions.length === 1 ? transactions : Group.assign(transactions)
    return Bytes.concat(
      members.map((txn, member) => {
        const sig = Ed25519.sign(Transaction.bytesToSign(Transaction.encode(txn)), senderOf(member).secretKey)
        return Submission.encode({ sig, txn })
      }),
    )
  }

  #request(body: Uint8Array): Uint8Array {
    const head = [
      'POST /v2/transactions HTTP/1.1',
      `Host: 127.0.0.1:${this.port}`,
      `X-Algo-API-Token: ${this.#token}`,
      'Content-Type: application/x-binary',
      `Content-Length: ${body.length}`,
    ]
    return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
  }
}
