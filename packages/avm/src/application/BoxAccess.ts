/** The boxes that a top-level group can use, and the bytes that it can read and write. */
import { Bytes, type Transaction } from '@latchkey/algorand'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { ApplicationLedger } from './ApplicationLedger.js'
import * as ByteKey from './ByteKey.js'
import { boxBytesPerReference, freeProgramBytes } from './limits.js'
import type { Resources } from './Resources.js'

/** What an operation does to a box. */
export type BoxUse = 'read' | 'create' | 'write' | 'delete' | 'resize'

const verbs: { readonly [use in BoxUse]: string } = {
  read: 'accessing',
  create: 'creating',
  write: 'writing',
  delete: 'accessing',
  resize: 'resizing',
}

/** Accounts for the boxes of a group. */
export class BoxAccess {
  /** Named boxes, and whether they were changed. */
  readonly #boxes = new Map<string, boolean>()
  readonly #resources: Resources
  #unnamedLeft: number
  #budget: number
  #dirtyBytes = 0
  #isOpen = false

  constructor(resources: Resources) {
    this.#resources = resources
    this.#budget = boxBytesPerReference * (resources.boxes.length + resources.emptyReferences)
    this.#unnamedLeft = resources.emptyReferences
    for (const { appId, name } of resources.boxes) {
      if (name !== '' && appId !== 0n) this.#boxes.set(keyOf(appId, name), false)
    }
  }

  /** Makes the boxes available that the transaction names for the application that it creates. */
  nameCreated(appId: bigint, { apbx = [], al = [] }: Transaction.Transaction): void {
    for (const { i = 0n, n } of apbx)
      if (i === 0n && n !== undefined) this.#boxes.set(keyOf(appId, ByteKey.of(n)), false)
    for (const { b } of al) {
      if (b?.n !== undefined && (b.i ?? 0n) === 0n) this.#boxes.set(keyOf(appId, ByteKey.of(b.n)), false)
    }
  }

  /**
   * Checks that the named boxes and large programs fit the budget, before the first program of a group.
   *
   * @throws EvaluationError
   */
  open(ledger: ApplicationLedger): void {
    if (this.#isOpen) return
    this.#isOpen = true
    let bytes = 0
    const seen = new Set<string>()
    for (const { appId, name } of this.#resources.boxes) {
      const key = keyOf(appId, name)
      if (seen.has(key)) continue
      seen.add(key)
      bytes += ledger.box(appId, name)?.length ?? 0
    }
    for (const appId of this.#resources.apps) {
      const application = ledger.application(appId)
      if (application === undefined) continue
      bytes += extraProgramBytes(application.approvalProgram, application.clearStateProgram)
    }
    if (bytes > this.#budget) throw new EvaluationError(`read budget exceeded (${bytes} > ${this.#budget})`)
  }

  /** Counts the programs of a new application above the free size as written. */
  writeProgram(appId: bigint, bytes: number, verb: string): void {
    this.#dirtyBytes += bytes
    if (bytes > 0) this.#expectBudget(`${verb} app ${appId}`)
  }

  /**
   * Checks that a box can be used.
   *
   * @param before the size of the box, or undefined if it does not exist.
   * @param after the size of the box afterwards.
   * @throws EvaluationError
   */
  use(appId: bigint, name: ByteKey.ByteKey, use: BoxUse, before: number | undefined, after: number): void {
    const key = keyOf(appId, name)
    let isDirty = this.#boxes.get(key)
    if (isDirty === undefined && this.#unnamedLeft > 0 && this.#resources.createdApps.has(appId)) {
      this.#unnamedLeft--
      isDirty = false
    }
    const hex = `0x${hexOf(name)}`
    if (isDirty === undefined) throw new EvaluationError(`invalid Box reference ${hex}`)
    const size = before ?? 0
    switch (use) {
      case 'create':
        if (!isDirty) this.#dirtyBytes += after
        isDirty = true
        break
      case 'write':
        if (!isDirty) this.#dirtyBytes += size
        isDirty = true
        break
      case 'resize':
        if (!isDirty) this.#dirtyBytes += size
        isDirty = true
        this.#dirtyBytes += after - size
        break
      case 'delete':
        if (isDirty) this.#dirtyBytes -= size
        isDirty = false
        break
      case 'read':
        break
    }
    this.#boxes.set(key, isDirty)
    this.#expectBudget(`${verbs[use]} box ${hex}`)
  }

  #expectBudget(action: string): void {
    if (this.#dirtyBytes <= this.#budget) return
    throw new EvaluationError(`write budget exceeded (${this.#dirtyBytes} > ${this.#budget}) while ${action}`)
  }
}

/** The bytes of programs above the free size. */
export function extraProgramBytes(approval: Uint8Array, clearState: Uint8Array): number {
  return Math.max(0, approval.length + clearState.length - freeProgramBytes)
}

function keyOf(appId: bigint, name: ByteKey.ByteKey): string {
  return `${appId}/${name}`
}

/** Hexadecimal digits of a key. */
export function hexOf(key: ByteKey.ByteKey): string {
  return Bytes.toHex(ByteKey.bytes(key))
}
