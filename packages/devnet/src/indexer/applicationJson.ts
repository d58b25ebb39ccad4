/** Applications and local states in the format of an indexer. */
import type { Ledger } from '../ledger/Ledger.js'
import * as MapKey from '../ledger/MapKey.js'
import { type AppRecord, StateValues } from '../ledger/programs/AppRecords.js'
import * as encoding from '../rest/applicationEncoding.js'
import type { Value } from '../rest/HttpResponse.js'

const noSchema = { integers: 0, byteStrings: 0 }

/** The remaining members of a deleted application. */
const deleted = {
  approvalProgram: new Uint8Array(),
  clearStateProgram: new Uint8Array(),
  globalSchema: noSchema,
  localSchema: noSchema,
  extraPages: 0,
  version: 0n,
  sizeSponsor: undefined,
  allowsForeignBoxReads: false,
  allowsFamilyBoxAccess: false,
}

/** An application that exists or existed. */
export function applicationJson({ state, lifetimes }: Ledger, appId: bigint): Value {
  const lifetime = lifetimes!.apps.applications.get(appId)
  const existing = state.application(appId)
  const application: AppRecord = existing ?? {
    params: { ...deleted, creator: lifetime?.creator ?? MapKey.zero },
    globals: new StateValues(),
  }
  return {
    'created-at-round': lifetime?.created,
    deleted: existing === undefined,
    'deleted-at-round': lifetime?.closed,
    id: appId,
    params: encoding.applicationJson(application),
  }
}

/** A local state that exists or existed. */
export function localJson({ state, lifetimes }: Ledger, key: MapKey.MapKey, appId: bigint): Value {
  const lifetime = lifetimes!.apps.local(key, appId)
  const existing = state.local(key, appId)
  return {
    ...encoding.localJson(appId, existing ?? { schema: noSchema, values: new StateValues() }),
    'closed-out-at-round': lifetime?.closed,
    deleted: existing === undefined,
    'opted-in-at-round': lifetime?.created,
  }
}

/** Returns the ids of the applications that the account created, ascending; with `closed` also the deleted ones. */
export function createdAppIds({ state, lifetimes }: Ledger, key: MapKey.MapKey, closed: boolean): bigint[] {
  return closed ? ascending([...state.appsCreatedBy(key), ...lifetimes!.apps.deletedBy(key)]) : state.appsCreatedBy(key)
}

/** Returns the ids of the applications that the account opted in to; with `closed` also of those that it left. */
export function optedInAppIds({ state, lifetimes }: Ledger, key: MapKey.MapKey, closed: boolean): bigint[] {
  const current = state.appsOptedInBy(key)
  return closed ? ascending([...current, ...lifetimes!.apps.closedLocals(key)]) : current
}

function ascending(ids: bigint[]): bigint[] {
  return ids.sort((a, b) => (a < b ? -1 : 1))
}
