/** Builds signing requests, each for a unique transaction. */
import { Bytes, Network, Transaction } from '@latchkey/algorand'
import { Connection } from '../support/Connection.js'
import type { Signer } from './grants.js'

const payee = new Uint8Array(32).fill(7)
const genesisHash = Bytes.fromBase64(Network.testnet.genesisHash)!
const start = BigInt(Date.now()) * 1_000n

/** Returns the first valid round of a transaction created at the given time. Rounds advance as on a real network. */
export function roundAt(ms: number): bigint {
  return BigInt(Math.floor(ms / 2_800))
}

export class SignRequests {
  static #made = 0n
  readonly #port: number

  constructor(port: number) {
    this.#port = port
  }

  /** Builds requests that alternate between the signers. */
  take(signers: readonly Signer[], count: number): Uint8Array[] {
    return Array.from({ length: count }, (_, index) => this.#make(signers[index % signers.length]!))
  }

  async sendOne(signer: Signer): Promise<void> {
    const connection = await Connection.open(this.#port, { keepBody: true })
    const { status, body } = await connection.request(this.#make(signer))
    connection.close()
    if (status !== 200) throw new Error(`not signed: ${body}`)
  }

  #make({ token, handle, password, publicKey }: Signer): Uint8Array {
    const note = Bytes.fromUtf8(`${start + SignRequests.#made++}`)
    const fv = roundAt(Date.now())
    const fields = { type: 'pay', snd: publicKey, rcv: payee, amt: 1n, fv, lv: fv + 1_000n, gh: genesisHash, note }
    const transaction = Bytes.toBase64(Transaction.encode(fields))
    const body = JSON.stringify({ wallet_handle_token: handle, transaction, wallet_password: password })
    const head = `POST /v1/transaction/sign HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\nX-KMD-API-Token: ${token}\r\n`
    return Buffer.from(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  }
}
