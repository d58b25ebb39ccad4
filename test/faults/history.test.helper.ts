/**
 * Defines the logs of a fault test: one line of JSON per event, in one file per process, and the blocks of the ledger.
 * The checker reads nothing else.
 */
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** An event, with its time on the machine's monotonic clock, which all processes share and no fault changes. */
export type Line = { readonly atMs: number; readonly process: string } & Happening

export type Happening =
  | { readonly type: 'started' }
  /** Faults are over, purchases have ended, and unsettled payments can no longer be settled. */
  | { readonly type: 'quiet' }
  /** A buyer starts a purchase. */
  | { readonly type: 'intent'; readonly purchase: string; readonly payer: string; readonly payTo: string }
  /** A buyer records a payment for the purchase, before it is signed. */
  | {
      readonly type: 'signed'
      readonly purchase: string
      readonly transactionId: string
      readonly payTo: string
      /** For an authorization, the maximum. */
      readonly amount: string
    }
  /** The complete answer has arrived. One that is charged by usage names its charge. */
  | {
      readonly type: 'answer'
      readonly purchase: string
      readonly transactionId: string
      readonly answer: string
      readonly charge?: string | undefined
    }
  /** A part of a stream that is charged by usage has arrived, with the charge up to it. */
  | { readonly type: 'received'; readonly purchase: string; readonly transactionId: string; readonly charge: string }
  /** A buyer that has paid nothing gives up. Nothing that the buyer signed can still be settled. */
  | { readonly type: 'refused'; readonly purchase: string; readonly reason: string }
  /** The seller's response was lost, and the order does not run again. */
  | { readonly type: 'lost'; readonly purchase: string; readonly transactionId: string }
  /** A gate has claimed a payment, under a number assigned by the store. */
  | {
      readonly type: 'claimed'
      readonly transactionId: string
      readonly result: string
      readonly fence?: number | undefined
    }
  /** A gate has ended its claim. */
  | { readonly type: 'ended'; readonly transactionId: string; readonly end: string }
  /** A gate refused a payment because another request holds its claim. */
  | { readonly type: 'busy'; readonly transactionId: string }
  /** A process was killed. */
  | { readonly type: 'killed'; readonly victim: string }
  /** A handler of a seller begins. */
  | { readonly type: 'begun'; readonly purchase: string; readonly transactionId: string; readonly isOrder: boolean }
  /** A handler of a seller sets the charge of an authorization, before it produces what is charged. */
  | {
      readonly type: 'used'
      readonly purchase: string
      readonly transactionId: string
      readonly charge: string
      readonly isStream: boolean
    }
  /** A handler of a seller produced an answer. */
  | { readonly type: 'handled'; readonly purchase: string; readonly transactionId: string; readonly answer: string }
  /** A gate has sent an answer, to its last byte. */
  | { readonly type: 'sent'; readonly purchase: string; readonly transactionId: string; readonly answer: string }
  /** A replica of the facilitator responded to a settlement request. */
  | {
      readonly type: 'settle'
      readonly transactionId: string
      readonly success: boolean
      readonly reason?: string | undefined
      /** What was charged of an authorization. */
      readonly charge?: string | undefined
    }

/** A transaction in a block. */
export type LedgerLine = {
  readonly round: number
  readonly transactionId: string
  /** The id that the parties give to the payment: of its transaction, or of the authorization that its note names. */
  readonly paymentId: string
  readonly group: string
  readonly sender: string
  readonly receiver: string
  /** The id of the asset; 0 is the ALGO. */
  readonly asset: number
  readonly amount: string
  readonly feeMicroAlgos: string
}

export type History = { readonly lines: readonly Line[]; readonly ledger: readonly LedgerLine[] }

/** Appends events to the file of a process. An event is kept even if the process is killed immediately afterwards. */
export class HistoryLog {
  readonly #path: string
  readonly #process: string

  constructor(directory: string, process: string) {
    this.#path = join(directory, `${process}.history.jsonl`)
    this.#process = process
    this.add({ type: 'started' })
  }

  add(happening: Happening): void {
    const atMs = Number(process.hrtime.bigint() / 1_000n) / 1_000
    appendFileSync(this.#path, `${JSON.stringify({ atMs, process: this.#process, ...happening })}\n`)
  }
}

/** Returns the lines of all processes, in the order in which they were written. */
export function readLines(directory: string): Line[] {
  const files = readdirSync(directory).filter((name) => name.endsWith('.history.jsonl'))
  return files.flatMap((name) => linesOf<Line>(join(directory, name))).sort((a, b) => a.atMs - b.atMs)
}

export type Intent = Extract<Line, { type: 'intent' }>

const endings: readonly Line['type'][] = ['answer', 'lost', 'refused']

/** Returns the purchases that processes of this name started and did not complete. */
export function openIntents(lines: readonly Line[], process: string): Intent[] {
  const own = lines.filter((line) => line.process === process)
  const ended = new Set(
    own.flatMap((line) => (endings.includes(line.type) ? (line as { purchase: string }).purchase : [])),
  )
  return own.filter((line): line is Intent => line.type === 'intent' && !ended.has(line.purchase))
}

/** Drops a last line that was truncated by a kill. */
function linesOf<T>(path: string): T[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  lines.pop()
  return lines.map((line) => JSON.parse(line) as T)
}

type BlockTransaction = {
  readonly txn: {
    readonly snd: string
    readonly rcv?: string
    readonly arcv?: string
    readonly xaid?: number
    readonly amt?: number
    readonly aamt?: number
    readonly fee?: number
    readonly grp?: string
    readonly note?: string
    readonly lx?: string
  }
}

async function read(nodeUrl: string, path: string): Promise<{ [name: string]: unknown }> {
  return (await (await fetch(`${nodeUrl}${path}`)).json()) as { [name: string]: unknown }
}

export async function lastRound(nodeUrl: string): Promise<number> {
  return Number((await read(nodeUrl, '/v2/status'))['last-round'])
}

/**
 * Returns every transaction of the ledger after a round, read block by block from a node that no fault reaches.
 */
export async function readLedger(nodeUrl: string, after: number): Promise<LedgerLine[]> {
  const last = await lastRound(nodeUrl)
  const ledger: LedgerLine[] = []
  for (let round = after + 1; round <= last; round++) {
    const { blockTxids } = (await read(nodeUrl, `/v2/blocks/${round}/txids`)) as { blockTxids: string[] }
    if (blockTxids.length === 0) continue
    const { block } = (await read(nodeUrl, `/v2/blocks/${round}`)) as { block: { txns: BlockTransaction[] } }
    block.txns.forEach(({ txn }, index) => {
      ledger.push({
        round,
        transactionId: blockTxids[index]!,
        paymentId: authorizationOf(txn) ?? blockTxids[index]!,
        group: txn.grp ?? blockTxids[index]!,
        sender: txn.snd,
        receiver: txn.arcv ?? txn.rcv ?? txn.snd,
        asset: txn.xaid ?? 0,
        amount: String(txn.aamt ?? txn.amt ?? 0),
        feeMicroAlgos: String(txn.fee ?? 0),
      })
    })
  }
  return ledger
}

/** Returns the authorization that a transfer is charged for. Its id is the lease, which the note repeats. */
function authorizationOf({ note, lx }: BlockTransaction['txn']): string | undefined {
  const id = Buffer.from(note ?? '', 'base64').toString()
  if (!id.startsWith('upto-')) return undefined
  const lease = Buffer.from(lx ?? '', 'base64')
  return id === `upto-${base32(lease)}` ? id : `${id}, with another lease`
}

const base32Letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const groups = bits.match(/.{1,5}/g) ?? []
  return groups.map((group) => base32Letters[Number.parseInt(group.padEnd(5, '0'), 2)]).join('')
}

type Parties = { readonly payers: readonly string[]; readonly sponsor: string }

/** Returns the transactions of a cluster; others have used the same ledger. */
export function ownLines({ payers, sponsor }: Parties, ledger: readonly LedgerLine[]): LedgerLine[] {
  return ledger.filter(({ sender }) => sender === sponsor || payers.includes(sender))
}
