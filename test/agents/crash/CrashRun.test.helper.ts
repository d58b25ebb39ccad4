/**
 * Runs fifty clients that spend with the tokens of four agents while the signing service is killed repeatedly. Each
 * signature that reaches a client is counted by transaction id, and the sums are compared with the limits.
 *
 * The run is divided into epochs. Within an epoch, the clock of the service moves forward by less than a day, and back.
 * Between two epochs, it moves forward by more than a day, so a daily limit applies to each epoch separately. At the
 * end of an epoch, every request without a response is sent again, and the rest of each limit is spent to the last
 * unit.
 */
import { Agent, type IncomingMessage, request } from 'node:http'
import { Bytes, Ed25519, Network, SignedTransaction, Transaction } from '@latchkey/algorand'

/** The signing service: our daemon, or one that counts after signing. */
export type SigningService = {
  start: () => Promise<string>
  /** Sends SIGKILL. */
  kill: () => Promise<void>
  /** Sets how far the clock is ahead, in seconds. */
  setClock: (seconds: number) => void
}

export type TestAgent = { readonly token: string; readonly publicKey: Uint8Array }

/** The limits of every agent, for each of the two assets. */
export type Limits = { readonly each: bigint; readonly day: bigint; readonly total: bigint }

export type CrashOptions = {
  service: SigningService
  agents: readonly TestAgent[]
  limits: Limits
  kills: number
  epochs: number
  seed: number
}

/** The violations as text; empty if every limit held to the unit. */
export type CrashReport = { violations: string[]; signatures: number; cutOff: number; refused: number; repeats: number }

/** Algos and an asset. */
export const assets = [0n, Network.testnet.usdcAssetId!] as const
export const genesisHash = Network.testnet.genesisHash
const payee = new Uint8Array(32).fill(7)
const clients = 50
const daySeconds = 86_400

type Payment = {
  readonly agent: number
  readonly asset: number
  readonly amount: bigint
  readonly bytes: Uint8Array
  readonly id: string
}

type Answer = 'signed' | 'refused' | 'cut off'

/** Returns a seeded random generator, so a failure can be repeated. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

type Life<T> = {
  /** Emptied from its end. */
  queue: T[]
  /** The number of answers after which the service is killed. */
  killAt: number
  /** How many requests are sent at a time. */
  clients: number
  send: (one: T) => Promise<unknown>
  /** Called after each answer, once the kill was decided. */
  onAnswer?: () => void
  kill: () => Promise<void>
}

/** Sends requests over many clients until so many are answered, and kills the service in the middle of the others. */
export async function sendUntilKilled<T>({ queue, killAt, clients, send, onAnswer, kill }: Life<T>): Promise<void> {
  let [answered, isKilled] = [0, false]
  let reachKill = (): void => {}
  const killMoment = new Promise<void>((resolve) => {
    reachKill = resolve
  })
  const client = async (): Promise<void> => {
    for (let next = queue.pop(); next !== undefined && !isKilled; next = queue.pop()) {
      await send(next)
      if (++answered >= killAt) reachKill()
      onAnswer?.()
    }
  }
  const working = Promise.all(Array.from({ length: clients }, client))
  await Promise.race([killMoment, working])
  isKilled = true
  await kill()
  await working
}

export class CrashRun {
  readonly #options: CrashOptions
  readonly #random: (below: number) => number
  readonly #connections = new Agent({ keepAlive: true, maxSockets: clients })
  /** The signed payments of this and earlier epochs, by transaction id. */
  readonly #signed = new Map<string, { payment: Payment; epoch: number }>()
  readonly #unanswered = new Map<string, Payment>()
  readonly #report: CrashReport = { violations: [], signatures: 0, cutOff: 0, refused: 0, repeats: 0 }
  #epoch = 0
  #sent = 0
  #url = ''

  constructor(options: CrashOptions) {
    this.#options = options
    this.#random = randomFrom(options.seed)
  }

  /** The ids of all transactions whose signature arrived. */
  get signedIds(): string[] {
    return [...this.#signed.keys()]
  }

  async run(): Promise<CrashReport> {
    const { service, kills, epochs } = this.#options
    for (this.#epoch = 0; this.#epoch < epochs; this.#epoch++) {
      service.setClock(this.#epoch * 2 * daySeconds)
      await this.#beginEpoch()
      const here = Math.floor(kills / epochs)
      for (let kill = 0; kill < here; kill++) {
        if (kill > 0) this.#url = await service.start()
        await this.#spendUntilKilled(here)
      }
      await this.#endEpoch()
    }
    this.#connections.destroy()
    this.#report.signatures = this.#signed.size
    return this.#report
  }

  /** Makes a first payment at the new time. After it, the clock may go back. */
  async #beginEpoch(): Promise<void> {
    const { service } = this.#options
    this.#url = await service.start()
    if ((await this.#send(this.#payment(0, 0, 1n))) !== 'signed') this.#fail(`epoch ${this.#epoch} does not begin`)
  }

  /**
   * Runs one life of the service. All lives together request more than a day allows, so the last ones hit the limit.
   */
  async #spendUntilKilled(lives: number): Promise<void> {
    const { service, limits, agents } = this.#options
    this.#moveClock()
    const payments = this.#payments((limits.day * 18n) / 10n / BigInt(lives))
    const repeats = [...this.#unanswered.values()].filter(() => this.#random(2) === 0)
    this.#report.repeats += repeats.length
    const queue = shuffle([...payments, ...repeats], this.#random)
    const killAt = this.#random(queue.length + agents.length)
    const onAnswer = (): void => {
      if (this.#random(40) === 0) this.#moveClock()
    }
    const send = (payment: Payment): Promise<Answer> => this.#send(payment)
    await sendUntilKilled({ queue, killAt, clients, send, onAnswer, kill: () => service.kill() })
  }

  /** Moves the clock back and forth within a few hours of the epoch. Only the highest time counts. */
  #moveClock(): void {
    const hours = this.#random(48) - 36
    this.#options.service.setClock(this.#epoch * 2 * daySeconds + Math.min(hours, 10) * 3_600)
  }

  /** Returns payments that add up to about a sum for each agent and asset, some of them above the limit per payment. */
  #payments(sum: bigint): Payment[] {
    const { agents, limits } = this.#options
    const payments: Payment[] = []
    for (const agent of agents.keys()) {
      for (const asset of assets.keys()) {
        for (let left = sum; left > 0n; ) {
          const amount = 1n + BigInt(this.#random(Number(limits.each) + 2))
          payments.push(this.#payment(agent, asset, amount))
          left -= amount
        }
      }
    }
    return payments
  }

  #payment(agent: number, asset: number, amount: bigint): Payment {
    const note = Bytes.fromUtf8(`${this.#options.seed} ${this.#sent++}`)
    const common = { snd: this.#options.agents[agent]!.publicKey, fv: 1n, lv: 1_000n, note }
    const gh = Bytes.fromBase64(genesisHash)!
    const fields =
      assets[asset] === 0n
        ? { type: 'pay', rcv: payee, amt: amount }
        : { type: 'axfer', xaid: assets[asset]!, arcv: payee, aamt: amount }
    const bytes = Transaction.encode({ ...common, ...fields, gh })
    return { agent, asset, amount, bytes, id: Transaction.id(bytes) }
  }

  async #send(payment: Payment): Promise<Answer> {
    this.#unanswered.set(payment.id, payment)
    const answer = await this.#ask(payment)
    if (answer === 'cut off') this.#report.cutOff++
    else this.#unanswered.delete(payment.id)
    if (answer === 'refused') this.#report.refused++
    if (answer === 'signed') this.#count(payment)
    return answer
  }

  #count(payment: Payment): void {
    const { each } = this.#options.limits
    if (payment.amount > each) this.#fail(`${payment.amount} was signed, above ${each} for one payment`)
    if (!this.#signed.has(payment.id)) this.#signed.set(payment.id, { payment, epoch: this.#epoch })
  }

  #ask({ agent, bytes, id }: Payment): Promise<Answer> {
    const { token, publicKey } = this.#options.agents[agent]!
    const body = JSON.stringify({ transaction: Bytes.toBase64(bytes) })
    return new Promise((resolve) => {
      const headers = { 'X-KMD-API-Token': token, 'Content-Length': body.length }
      const url = `${this.#url}/latchkey/v1/agent/sign`
      const sending = request(
        url,
        { method: 'POST', headers, agent: this.#connections, timeout: 60_000 },
        (response) => {
          void readAll(response).then(({ text, isWhole }) => {
            if (response.statusCode !== 200) {
              if (isWhole && ![403, 503].includes(response.statusCode!))
                this.#fail(`unexpected: ${response.statusCode} ${text}`)
              resolve(isWhole && response.statusCode === 403 ? 'refused' : 'cut off')
            } else {
              // Any part of a truncated response proves that there was a signature.
              if (isWhole) this.#verify(text, bytes, publicKey, id)
              resolve('signed')
            }
          })
        },
      )
      sending.on('error', () => resolve('cut off'))
      sending.on('timeout', () => sending.destroy())
      sending.end(body)
    })
  }

  #verify(text: string, bytes: Uint8Array, publicKey: Uint8Array, id: string): void {
    const signed = SignedTransaction.decode(Bytes.fromBase64(JSON.parse(text).signed_transaction)!)
    const isValid = Ed25519.verify(signed.sig!, Transaction.bytesToSign(bytes), publicKey)
    if (!isValid || Transaction.id(Transaction.encode(signed.txn)) !== id) this.#fail(`${id} has a wrong signature`)
  }

  /** Checks that every request is answered, no limit is exceeded, and exactly the rest can be spent. */
  async #endEpoch(): Promise<void> {
    const { service, agents } = this.#options
    this.#url = await service.start()
    const waiting = [...this.#unanswered.values()]
    const resend = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        if ((await this.#send(next)) === 'cut off') this.#fail(`${next.id} is not answered`)
      }
    }
    await Promise.all(Array.from({ length: clients }, resend))
    const pairs = [...agents.keys()].flatMap((agent) => [...assets.keys()].map((asset) => [agent, asset] as const))
    await Promise.all(pairs.map(([agent, asset]) => this.#spendRest(agent, asset)))
    await service.kill()
  }

  async #spendRest(agent: number, asset: number): Promise<void> {
    const where = `agent ${agent}, asset ${assets[asset]}, epoch ${this.#epoch}`
    const { each } = this.#options.limits
    const rest = this.#rest(agent, asset)
    if (rest < 0n) this.#fail(`${-rest} over a limit: ${where}`)
    for (let left = rest; left > 0n; left -= each) {
      const amount = left < each ? left : each
      const answer = await this.#send(this.#payment(agent, asset, amount))
      if (answer !== 'signed') return this.#fail(`${amount} of the rest ${left} is ${answer}: ${where}`)
    }
    const answer = await this.#send(this.#payment(agent, asset, 1n))
    if (answer !== 'refused') this.#fail(`one more than a limit is ${answer}: ${where}`)
  }

  /** Returns the rest of each limit, according to the signatures that arrived. */
  #rest(agent: number, asset: number): bigint {
    const { limits } = this.#options
    let [day, total] = [limits.day, limits.total]
    for (const { payment, epoch } of this.#signed.values()) {
      if (payment.agent !== agent || payment.asset !== asset) continue
      total -= payment.amount
      if (epoch === this.#epoch) day -= payment.amount
    }
    return day < total ? day : total
  }

  #fail(violation: string): void {
    this.#report.violations.push(violation)
  }
}

async function readAll(response: IncomingMessage): Promise<{ text: string; isWhole: boolean }> {
  const parts: Buffer[] = []
  try {
    for await (const part of response) parts.push(part as Buffer)
    return { text: Buffer.concat(parts).toString(), isWhole: response.complete }
  } catch {
    return { text: Buffer.concat(parts).toString(), isWhole: false }
  }
}

function shuffle<T>(items: T[], random: (below: number) => number): T[] {
  for (let index = items.length - 1; index > 0; index--) {
    const other = random(index + 1)
    ;[items[index], items[other]] = [items[other]!, items[index]!]
  }
  return items
}
