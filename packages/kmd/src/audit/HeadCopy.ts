/**
 * A copy of the log's head in a separate small file, `latchkey_audit.head`. The copy reveals missing records at the end
 * of the log, which the chain alone cannot. It is written after each commit and not synced, so after a power failure it
 * may be older than the log but never newer. Two slots are written alternately, so that a torn write leaves the other
 * one intact.
 */
import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import * as AtomicFile from '@latchkey/system/atomic-file'
import type { Head } from './AuditChain.js'

/** The name of the file in a data directory. */
export const fileName = 'latchkey_audit.head'

/** `damaged`: the file exists but contains no head. */
export type Copy = Head | 'missing' | 'damaged'

const slotBytes = 256
/** Far enough apart that one torn disk write hits only one slot. */
const slotOffsets = [0, 4096] as const
const pattern = /^latchkey audit head 1 ([0-9]{1,15}) ([0-9]{1,15}) ([0-9a-f]{64}) ([0-9a-f]{16})\n/

type Slot = Head & { readonly generation: number }

/** Reads a copy. Other programs may do this, too. */
export function read(file: string): Copy {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) return 'missing'
  // Opening a named pipe would block the whole daemon.
  if (!stats.isFile()) return 'damaged'
  const descriptor = openSync(file, 'r')
  try {
    const slot = readNewest(descriptor)
    return slot === undefined ? 'damaged' : { number: slot.number, hash: slot.hash }
  } finally {
    closeSync(descriptor)
  }
}

export class HeadCopy {
  readonly #file: string
  #descriptor: number | undefined
  #generation = 0

  constructor(file: string) {
    this.#file = file
  }

  read(): Copy {
    return read(this.#file)
  }

  /** Creates the file and syncs it to disk. */
  create(head: Head): void {
    this.close()
    // Written at full size, so that later writes need no space on a full disk.
    AtomicFile.replaceSync(this.#file, Buffer.concat([slotOf(head, 1), Buffer.alloc(slotOffsets[1], '\n')]))
  }

  /** Writes in place without syncing. Creates a missing file. */
  write(head: Head): void {
    if (this.#descriptor === undefined && this.read() === 'missing') {
      this.create(head)
      return
    }
    const descriptor = this.#open()
    const generation = this.#generation + 1
    writeSync(descriptor, slotOf(head, generation), 0, slotBytes, slotOffsets[generation % 2 === 1 ? 0 : 1])
    this.#generation = generation
  }

  close(): void {
    if (this.#descriptor === undefined) return
    try {
      fsyncSync(this.#descriptor)
    } finally {
      closeSync(this.#descriptor)
      this.#descriptor = undefined
    }
  }

  #open(): number {
    if (this.#descriptor !== undefined) return this.#descriptor
    const descriptor = openSync(this.#file, 'r+')
    this.#generation = readNewest(descriptor)?.generation ?? 0
    this.#descriptor = descriptor
    return descriptor
  }
}

function slotOf({ number, hash }: Head, generation: number): Buffer {
  const text = `latchkey audit head 1 ${generation} ${number} ${Buffer.from(hash).toString('hex')}`
  return Buffer.from(`${text} ${checksum(text)}\n`.padEnd(slotBytes, '\n'))
}

function readNewest(descriptor: number): Slot | undefined {
  const slots = slotOffsets.map((offset) => readSlot(descriptor, offset)).filter((slot) => slot !== undefined)
  return slots.sort((a, b) => b.generation - a.generation)[0]
}

function readSlot(descriptor: number, offset: number): Slot | undefined {
  const bytes = Buffer.alloc(slotBytes)
  readSync(descriptor, bytes, 0, slotBytes, offset)
  const [line, generation, number, hash, sum] = pattern.exec(bytes.toString('latin1')) ?? []
  if (line === undefined || checksum(line.slice(0, line.lastIndexOf(' '))) !== sum) return undefined
  return { generation: Number(generation), number: Number(number), hash: Buffer.from(hash!, 'hex') }
}

function checksum(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
