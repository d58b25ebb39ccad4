/** Drives the algod under measurement at a given address: our devnet, or any other algod in dev mode. */
import { Address, Ed25519, Mnemonic, Submission, Transaction } from '@latchkey/algorand'

export type Payer = { publicKey: Uint8Array; secretKey: Uint8Array }

/** The payers sign alternately, so a cache for one account does not decide the result. */
const payerCount = 100
const payerMicroAlgos = 10_000_000_000n
const windowRounds = 1_000n

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
    const parameters = (await this.#get('/v2/transactions/params')) as Record<string, string | number>
    this.#genesis ??= {
      gen: parameters['genesis-id'] as string,
      gh: new Uint8Array(Buffer.from(parameters['genesis-hash'] as string, 'base64')),
    }
    return BigInt(parameters['last-round']!)
  }

  async balance(payer: Payer): Promise<bigint> {
    const account = (await this.#get(`/v2/accounts/${Address.encode(payer.publicKey)}`)) as { amount: number }
    return BigInt(account.amount)
  }

  /** Funds every payer from the account of a mnemonic. */
  async fundPayers(mnemonic: string): Promise<void> {
    const funder = Ed25519.keyPairFromSeed(Mnemonic.decode(mnemonic))
    for (const payer of this.payers) {
      const round = await this.round()
      await this.submit(this.#sign(funder, payer.publicKey, payerMicroAlgos, round))
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
  async signedPayments(count: number, from?: bigint): Promise<Uint8Array[]> {
    const round = from ?? (await this.round())
    return Array.from({ length: count }, (_, index) => {
      const payer = this.payers[index % payerCount]!
      const receiver = this.payers[(index + 1) % payerCount]!.publicKey
      const first = round + BigInt(Math.max(0, index - Number(windowRounds) / 2))
      return this.#sign(payer, receiver, ++this.#amount, first)
    })
  }

  /** Returns the status of the response. */
  async submit(signed: Uint8Array): Promise<number> {
    const headers = { 'X-Algo-API-Token': this.#token, 'Content-Type': 'application/x-binary' }
    const answer = await fetch(`${this.#url}/v2/transactions`, { method: 'POST', headers, body: Buffer.from(signed) })
    await answer.arrayBuffer()
    return answer.status
  }

  /** Throws unless a payment with a wrong signature is refused: otherwise the measurement would be meaningless. */
  async checkThatSignaturesCount(): Promise<void> {
    const signed = this.#sign(this.payers[0]!, this.payers[1]!.publicKey, 1n, await this.round())
    const { signed: decoded } = Submission.decodeFirst(signed)
    const sig = decoded.sig!.map((byte, index) => (index === 0 ? byte ^ 1 : byte))
    const status = await this.submit(Submission.encode({ ...decoded, sig }))
    if (status !== 400) throw new Error(`a payment with a wrong signature was answered with status ${status}`)
  }

  get #url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async #get(path: string): Promise<unknown> {
    const answer = await fetch(`${this.#url}${path}`, { headers: { 'X-Algo-API-Token': this.#token } })
    if (answer.status !== 200) throw new Error(`${path} was answered with status ${answer.status}`)
    return answer.json()
  }

  #sign({ publicKey, secretKey }: Payer, receiver: Uint8Array, amt: bigint, firstValid: bigint): Uint8Array {
    const txn: Transaction.Transaction = {
      type: 'pay',
      snd: publicKey,
      rcv: receiver,
      amt,
      fee: 1_000n,
      fv: firstValid,
      lv: firstValid + windowRounds,
      ...this.#genesis,
      note: new Uint8Array(Buffer.from(`${process.pid} ${performance.now()}`)),
    }
    const sig = Ed25519.sign(Transaction.bytesToSign(Transaction.encode(txn)), secretKey)
    return Submission.encode({ sig, txn })
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
