/** The boxes that a top-level group can use, and the bytes that it can read and write. */
import { Bytes, type Transaction } from '@latchkey/algorand'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import * as ByteKey from './ByteKey.js'
import { boxBytesPerReference, freeProgramBytes } from './limits.js'
import type { Resources } from './Resources.js'
import type { UnnamedResources } from './UnnamedResources.js'

/** The effect of an operation on a box. */
export type BoxUse = 'read' | 'create' | 'write' | 'delete' | 'resize'

const verbs: { readonly [use in BoxUse]: string } = {
  read: 'accessing',
  create: 'creating',
  write: 'writing',
  delete: 'accessing',
  resize: 'resizing',
}

/** The stored bytes that a group reads. */
type StoredBytes = {
  readonly box: (appId: bigint, name: ByteKey.ByteKey) => Uint8Array | undefined
  readonly application: (
    appId: bigint,
  ) => { readonly approvalProgram: Uint8Array; readonly clearStateProgram: Uint8Array } | undefined
}

/** Accounts for the boxes of a group. */
export class BoxAccess {
  /** Named boxes, and whether they were changed. */
  readonly #boxes = new Map<string, boolean>()
  readonly #resources: Resources
  readonly #unnamed: UnnamedResources | undefined
  #references: number
  /** As on a node, a simulation that adds references for writes does not count those of access lists. */
  #writeReferences: number
  #emptyLeft: number
  #readBytes = 0
  #dirtyBytes = 0
  /** The references added for bytes alone, less those that name a box since. */
  #referencesForBytes = 0
  #stored: StoredBytes | undefined

  constructor(resources: Resources, unnamed: UnnamedResources | undefined) {
    this.#resources = resources
    this.#unnamed = unnamed
    this.#references = resources.boxes.length + resources.emptyReferences
    this.#writeReferences = unnamed?.boxReferences ?? this.#references
    this.#emptyLeft = resources.emptyReferences
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
  open(ledger: StoredBytes): void {
    if (this.#stored !== undefined) return
    this.#stored = ledger
    const seen = new Set<string>()
    for (const { appId, name } of this.#resources.boxes) {
      const key = keyOf(appId, name)
      if (seen.has(key)) continue
      seen.add(key)
      this.#readBytes += ledger.box(appId, name)?.length ?? 0
    }
    for (const appId of this.#resources.apps) {
      const application = ledger.application(appId)
      if (application === undefined) continue
      this.#readBytes += extraProgramBytes(application.approvalProgram, application.clearStateProgram)
    }
    this.#expectReadBudget()
  }

  /** Counts the programs of a new application above the free size as written. */
  writeProgram(appId: bigint, bytes: number, verb: string): void {
    this.#dirtyBytes += bytes
    if (bytes > 0) this.#expectBudget(() => `${verb} app ${appId}`)
  }

  /** Runs an instruction. As on a node, only instructions that succeed change the references for bytes alone. */
  during<Result>(instruction: () => Result): Result {
    const before = this.#referencesForBytes
    try {
      return instruction()
    } catch (error) {
      if (this.#unnamed !== undefined) this.#unnamed.group.extraBoxReferences -= this.#referencesForBytes - before
      throw error
    }
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
    if (isDirty === undefined && this.#isAdded(appId, name, before ?? 0)) isDirty = false
    if (isDirty === undefined) throw new EvaluationError(`invalid Box reference 0x${hexOf(name)}`)
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
    this.#expectBudget(() => `${verbs[use]} box 0x${hexOf(name)}`)
  }

  /** Whether a box can be used that is not named. */
  #isAdded(appId: bigint, name: ByteKey.ByteKey, size: number): boolean {
    if (this.#resources.createdApps.has(appId) && (this.#emptyLeft > 0 || this.#addReference())) {
      this.#emptyLeft--
      return true
    }
    const set = this.#unnamed?.group
    if (set === undefined) return false
    if (set.extraBoxReferences > 0 && this.#stored?.application(appId) !== undefined) {
      // A reference that was added for its bytes alone names the box from now on, unless the instruction fails.
      set.extraBoxReferences--
      this.#referencesForBytes--
      this.#emptyLeft = Math.max(0, this.#emptyLeft - 1)
    } else {
      if (set.isFull) return false
      this.#references++
      this.#writeReferences++
    }
    set.boxes.push({ appId, name })
    this.#readBytes += size
    this.#expectReadBudget()
    return true
  }

  /** Adds a reference without a box, if unnamed resources are permitted. */
  #addReference(): boolean {
    const set = this.#unnamed?.group
    if (set === undefined || set.isFull) return false
    set.extraBoxReferences++
    this.#references++
    this.#writeReferences++
    this.#emptyLeft++
    return true
  }

  #addReferenceForBytes(): boolean {
    const isAdded = this.#addReference()
    if (isAdded) this.#referencesForBytes++
    return isAdded
  }

  #expectReadBudget(): void {
    const budget = (): number => boxBytesPerReference * this.#references
    while (this.#readBytes > budget()) {
      if (this.#addReferenceForBytes()) continue
      throw new EvaluationError(`read budget exceeded (${this.#readBytes} > ${budget()})`)
    }
  }

  #expectBudget(action: () => string): void {
    const budget = (): number => boxBytesPerReference * this.#writeReferences
    while (this.#dirtyBytes > budget()) {
      if (this.#addReferenceForBytes()) continue
      throw new EvaluationError(`write budget exceeded (${this.#dirtyBytes} > ${budget()}) while ${action()}`)
    }
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
