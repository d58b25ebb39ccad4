/**
 * Records when applications were created and deleted, and when accounts opted in to them and out of them. Used only for
 * the indexer. Closed records are removed when the block of their closing is dropped from the history.
 */
import type * as Block from './Block.js'
import * as MapKey from './MapKey.js'
import * as Delta from './programs/Delta.js'
import { SortedList } from './SortedList.js'
import type { State } from './State.js'
import type { StateOverlay } from './StateOverlay.js'
import { holdingKey } from './StateReader.js'

/** Rounds. `created` is unknown for records from a dump without lifetimes; `closed` stays after a new creation. */
export type Lifetime = { readonly created: bigint | undefined; readonly closed?: bigint | undefined }

/** Changes that are about to be committed to `state`. */
export type RecordedChange = {
  readonly changes: StateOverlay
  readonly state: State
  readonly round: bigint
  readonly applied?: readonly Block.Applied[]
}

export type AppLifetime = Lifetime & { readonly creator: MapKey.MapKey }
export type LocalLifetime = Lifetime & { readonly key: MapKey.MapKey; readonly appId: bigint }

export type AppLifetimesCopy = {
  readonly applications: ReadonlyMap<bigint, AppLifetime>
  readonly locals: ReadonlyMap<string, LocalLifetime>
}

type Closing = { readonly round: bigint; readonly appId: bigint } | { readonly round: bigint; readonly local: string }

const none: ReadonlySet<bigint> = new Set()

export class AppLifetimes {
  readonly applications = new Map<bigint, AppLifetime>()
  /** All applications, including deleted ones. */
  order = new SortedList<bigint>()
  readonly #locals = new Map<string, LocalLifetime>()
  readonly #members = new Map<bigint, SortedList<MapKey.MapKey>>()
  readonly #deletedBy = new Map<MapKey.MapKey, Set<bigint>>()
  readonly #closedLocals = new Map<MapKey.MapKey, Set<bigint>>()
  /** In the order of their rounds. */
  #closings: Closing[] = []

  local(key: MapKey.MapKey, appId: bigint): LocalLifetime | undefined {
    return this.#locals.get(holdingKey(key, appId))
  }

  /** All accounts that opted in, including those that are out again. */
  members(appId: bigint): SortedList<MapKey.MapKey> | undefined {
    return this.#members.get(appId)
  }

  /** Returns the ids of the deleted applications that the account created. */
  deletedBy(key: MapKey.MapKey): ReadonlySet<bigint> {
    return this.#deletedBy.get(key) ?? none
  }

  /** Returns the ids of the applications that the account has left. */
  closedLocals(key: MapKey.MapKey): ReadonlySet<bigint> {
    return this.#closedLocals.get(key) ?? none
  }

  record({ changes, state, round, applied = [] }: RecordedChange): void {
    for (const [appId, application] of changes.applications) {
      const before = this.applications.get(appId)
      const { params } = application ?? state.application(appId) ?? {}
      const creator = params?.creator ?? before?.creator ?? creatorOf(appId, applied)
      const created = before === undefined ? round : before.created
      if (application === undefined) {
        this.#setApplication(appId, { creator, created, closed: round })
        MapKey.addId(this.#deletedBy, creator, appId)
        this.#closings.push({ round, appId })
      } else if (before === undefined) this.#setApplication(appId, { creator, created })
    }
    for (const [id, { key, appId, local }] of changes.locals) {
      const before = this.#locals.get(id)
      const created = before === undefined ? round : before.created
      if (local === undefined) {
        this.#setLocal(id, { key, appId, created, closed: round })
        MapKey.addId(this.#closedLocals, key, appId)
        this.#closings.push({ round, local: id })
      } else {
        MapKey.removeId(this.#closedLocals, key, appId)
        if (before === undefined) this.#setLocal(id, { key, appId, created })
      }
    }
  }

  /** Removes records that were closed before the round and are closed in this state. */
  forgetBefore(round: bigint, state: State): void {
    let count = 0
    while (count < this.#closings.length && this.#closings[count]!.round < round) {
      const closing = this.#closings[count]!
      if ('appId' in closing) this.#forgetApplication(closing.appId, state)
      else this.#forgetLocal(closing.local, closing.round, state)
      count++
    }
    if (count > 0) this.#closings.splice(0, count)
  }

  #forgetApplication(appId: bigint, state: State): void {
    const lifetime = this.applications.get(appId)
    if (lifetime === undefined || state.application(appId) !== undefined) return
    this.applications.delete(appId)
    this.order.delete(appId)
    MapKey.removeId(this.#deletedBy, lifetime.creator, appId)
  }

  #forgetLocal(id: string, round: bigint, state: State): void {
    const lifetime = this.#locals.get(id)
    if (lifetime?.closed !== round || state.local(lifetime.key, lifetime.appId) !== undefined) return
    const { key, appId } = lifetime
    this.#locals.delete(id)
    MapKey.removeId(this.#closedLocals, key, appId)
    const members = this.#members.get(appId)
    members?.delete(key)
    if (members?.size === 0) this.#members.delete(appId)
  }

  /** The copy shares the records, which never change. */
  copy(): AppLifetimesCopy {
    return { applications: new Map(this.applications), locals: new Map(this.#locals) }
  }

  /** `copy` may be absent or lack records of the state, whose creation rounds are then unknown. */
  restore(copy: AppLifetimesCopy | undefined, state: State): void {
    this.#clear()
    for (const [appId, lifetime] of copy?.applications ?? []) this.#setApplication(appId, lifetime)
    for (const [id, lifetime] of copy?.locals ?? []) this.#setLocal(id, lifetime)
    for (const [appId, { params }] of state.allApplications()) {
      if (!this.applications.has(appId)) this.#setApplication(appId, { creator: params.creator, created: undefined })
    }
    for (const key of state.allAccounts().keys()) {
      for (const appId of state.appsOptedInBy(key)) {
        const id = holdingKey(key, appId)
        if (!this.#locals.has(id)) this.#setLocal(id, { key, appId, created: undefined })
      }
    }
    this.#findClosed(state)
  }

  #clear(): void {
    this.order = new SortedList()
    for (const map of [this.applications, this.#locals, this.#members, this.#deletedBy, this.#closedLocals]) map.clear()
  }

  #findClosed(state: State): void {
    const closings: Closing[] = []
    for (const [appId, { closed, creator }] of this.applications) {
      if (closed === undefined) continue
      closings.push({ round: closed, appId })
      if (state.application(appId) === undefined) MapKey.addId(this.#deletedBy, creator, appId)
    }
    for (const [local, { closed, key, appId }] of this.#locals) {
      if (closed === undefined) continue
      closings.push({ round: closed, local })
      if (state.local(key, appId) === undefined) MapKey.addId(this.#closedLocals, key, appId)
    }
    this.#closings = closings.sort((a, b) => (a.round < b.round ? -1 : a.round > b.round ? 1 : 0))
  }

  #setApplication(appId: bigint, lifetime: AppLifetime): void {
    if (!this.applications.has(appId)) this.order.add(appId)
    this.applications.set(appId, lifetime)
  }

  #setLocal(id: string, lifetime: LocalLifetime): void {
    if (!this.#locals.has(id)) {
      const members = this.#members.get(lifetime.appId) ?? new SortedList<MapKey.MapKey>()
      members.add(lifetime.key)
      this.#members.set(lifetime.appId, members)
    }
    this.#locals.set(id, lifetime)
  }
}

/** For an application that was created and deleted in the same block, perhaps by another one. */
function creatorOf(appId: bigint, applied: readonly Block.Applied[]): MapKey.MapKey {
  for (const { transaction, outcome } of applied) {
    if (outcome.createdAppId === appId) return transaction.sender
    for (const { txn, effects } of Delta.innersOf(outcome.delta)) {
      if (effects.createdAppId === appId) return MapKey.of(txn.snd)
    }
  }
  return MapKey.zero
}
