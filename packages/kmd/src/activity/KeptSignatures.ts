/**
 * Keeps the latest signatures over a restart, in a small file, so that the console can show payments of the owner that
 * the audit log does not record by default. The file is written when the daemon stops, and while it runs at most twice
 * a minute: signing does not wait for it, and a killed daemon loses the signatures since the last time. The audit log
 * is the record without gaps.
 */
import { setImmediate } from 'node:timers/promises'
import { Json } from '@latchkey/algorand'
import { StateFile } from '../state/StateFile.js'
import type { Facts, SignatureLog, SignatureRecord } from './SignatureLog.js'

export type KeptSignaturesOptions = {
  log: SignatureLog
  /** @default none: nothing is kept */
  file?: string | undefined
  /** Called if the file cannot be read or written. */
  onFailure?: ((error: unknown) => void) | undefined
  /** @default 30 seconds */
  everyMs?: number | undefined
}

/** The same number as in a {@link SignatureLog}. */
const maxSignatures = 1_000
const maxBytes = 8 * 1024 * 1024
const maxTextLength = 1_024
const maxWarnings = 16
const recordsPerTurn = 16
const version = 1

type State = { readonly version: number; readonly signatures: readonly StoredSignature[] }

/** Amounts are decimal text, because they can exceed 2^53. */
type StoredSignature = Omit<SignatureRecord, 'number' | 'facts'> & {
  readonly facts: { readonly [name in keyof Facts]: Facts[name] extends bigint ? string : Facts[name] }
}

export class KeptSignatures {
  readonly #log: SignatureLog
  readonly #file: StateFile<State> | undefined
  readonly #onFailure: ((error: unknown) => void) | undefined
  readonly #timer: NodeJS.Timeout
  #earlier: readonly SignatureRecord[] | undefined
  #isDamaged = false
  #saved = 0

  constructor({ log, file, onFailure, everyMs = 30_000 }: KeptSignaturesOptions) {
    this.#log = log
    this.#onFailure = onFailure
    if (file !== undefined) {
      this.#file = new StateFile({ path: file, maxBytes, empty: { version, signatures: [] }, parse })
    }
    this.#timer = setInterval(() => void this.save(), everyMs).unref()
  }

  /** The signatures from before the daemon started, oldest first, numbered from 1. Empty if the file is damaged. */
  get earlier(): readonly SignatureRecord[] {
    this.#earlier ??= this.#read()
    return this.#earlier
  }

  /** Writes new signatures. Never rejects, because the signatures were made. */
  async save(): Promise<void> {
    const { lastNumber } = this.#log
    if (this.#file === undefined || lastNumber === this.#saved) return
    const { earlier } = this
    if (this.#isDamaged) return
    this.#saved = lastNumber
    const all = [...earlier, ...(await readInTurns(this.#log, 0))]
    try {
      this.#file.write({ version, signatures: all.slice(-maxSignatures).map(stored) })
    } catch (error) {
      this.#onFailure?.(error)
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.save()
  }

  #read(): readonly SignatureRecord[] {
    try {
      const { signatures } = this.#file?.read() ?? { signatures: [] }
      return signatures.map(({ facts, ...rest }, index) => ({ ...rest, number: index + 1, facts: restored(facts) }))
    } catch (error) {
      // The file is left to its owner.
      this.#isDamaged = true
      this.#onFailure?.(error)
      return []
    }
  }
}

/**
 * Reads a few records at a time, so that other requests run in between: reading a thousand records for the first time
 * takes a fifth of a second.
 */
export async function readInTurns(log: SignatureLog, after: number): Promise<SignatureRecord[]> {
  const records: SignatureRecord[] = []
  const end = log.lastNumber
  for (let last = after; last < end; ) {
    const read = log.after(last, recordsPerTurn)
    records.push(...read)
    last = read.at(-1)?.number ?? end
    if (last < end) await setImmediate()
  }
  return records
}

function stored({ atMs, walletKey, isMultisig, facts }: SignatureRecord): StoredSignature {
  const { amount, assetId, feeMicroAlgos, warnings } = facts
  return {
    atMs,
    walletKey,
    isMultisig,
    facts: {
      ...facts,
      amount: `${amount}`,
      assetId: `${assetId}`,
      feeMicroAlgos: `${feeMicroAlgos}`,
      warnings: warnings.slice(0, maxWarnings).map((text) => text.slice(0, maxTextLength)),
    },
  }
}

function restored(facts: StoredSignature['facts']): Facts {
  const { amount, assetId, feeMicroAlgos } = facts
  return { ...facts, amount: BigInt(amount), assetId: BigInt(assetId), feeMicroAlgos: BigInt(feeMicroAlgos) }
}

function parse(json: unknown): State {
  if (!Json.isObject(json) || json['version'] !== version) throw new Error(`its version is not ${version}`)
  const list = json['signatures']
  if (!Array.isArray(list) || list.length > maxSignatures)
    throw new Error(`it does not contain a list of at most ${maxSignatures} signatures`)
  return { version, signatures: list.map(parseSignature) }
}

function parseSignature(json: unknown, index: number): StoredSignature {
  const { atMs, walletKey, isMultisig, facts } = Json.isObject(json) ? json : {}
  const { warnings, ...texts } = Json.isObject(facts) ? facts : {}
  const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= maxTextLength
  const text = (name: string): string => {
    const value = texts[name]
    if (!isText(value)) throw new Error(`signature ${index + 1} has no ${name}`)
    return value
  }
  const decimal = (name: string): string => {
    if (!/^[0-9]{1,20}$/.test(text(name))) throw new Error(`the ${name} of signature ${index + 1} is not a number`)
    return text(name)
  }
  if (!Number.isSafeInteger(atMs) || !isText(walletKey) || typeof isMultisig !== 'boolean')
    throw new Error(`signature ${index + 1} has no time, wallet or kind`)
  if (!Array.isArray(warnings) || warnings.length > maxWarnings || !warnings.every(isText))
    throw new Error(`signature ${index + 1} has no warnings`)
  return {
    atMs: atMs as number,
    walletKey,
    isMultisig,
    facts: {
      transactionId: text('transactionId'),
      program: text('program'),
      type: text('type'),
      sender: text('sender'),
      receiver: text('receiver'),
      amount: decimal('amount'),
      assetId: decimal('assetId'),
      feeMicroAlgos: decimal('feeMicroAlgos'),
      warnings,
    },
  }
}
