/**
 * Models how clients add the references that a simulation reports to the calls of a group: one after the other, each
 * to the first call that has a place for it. Nothing is moved afterwards, so the order decides whether all find a place.
 */
import type { Transaction } from '@latchkey/algorand'
import type { ResourcePair, UnnamedBox } from '@latchkey/avm'
import * as MapKey from '../ledger/MapKey.js'
import { appAddress } from '../ledger/programs/AppRecords.js'

/** The references that a group needs in addition to its own, in the order of the response. */
export type References = {
  readonly accounts: readonly MapKey.MapKey[]
  readonly apps: readonly bigint[]
  readonly assets: readonly bigint[]
  readonly boxes: readonly UnnamedBox[]
  readonly holdings: readonly ResourcePair[]
  readonly locals: readonly ResourcePair[]
  readonly extraBoxReferences: number
}

/** How clients differ. */
export type Packer = {
  readonly name: string
  /** The accounts that the client adds to one call at most. */
  readonly maxAccounts: number
  /** Whether the client adds an account only to a call with a free place. The others fail on a full call. */
  readonly checksPlaceOfAccounts: boolean
  /** Whether the client looks for two places to add a box and its application. The others fail on the last place. */
  readonly checksPlacesOfPairs: boolean
  /** Whether the client removes accounts from its list that it added with a holding or local state. */
  readonly removesAddedAccounts: boolean
  /** Whether a reference that the call already has needs no place. */
  readonly skipsPresent: boolean
}

/** AlgoKit utils, whose versions are used by most clients that complete groups with the help of a simulation. */
export const packers: readonly Packer[] = [
  {
    name: 'AlgoKit utils 4 for Python',
    maxAccounts: 4,
    checksPlaceOfAccounts: false,
    checksPlacesOfPairs: false,
    removesAddedAccounts: true,
    skipsPresent: false,
  },
  {
    name: 'AlgoKit utils 9.1 for TypeScript, and older',
    maxAccounts: 4,
    checksPlaceOfAccounts: false,
    checksPlacesOfPairs: true,
    removesAddedAccounts: false,
    skipsPresent: false,
  },
  {
    name: 'AlgoKit utils 9.2 for TypeScript',
    maxAccounts: 8,
    checksPlaceOfAccounts: true,
    checksPlacesOfPairs: true,
    removesAddedAccounts: false,
    skipsPresent: false,
  },
  {
    name: 'AlgoKit utils 10 for TypeScript',
    maxAccounts: 8,
    checksPlaceOfAccounts: true,
    checksPlacesOfPairs: true,
    removesAddedAccounts: false,
    skipsPresent: true,
  },
]

/** The calls of a group to which clients add references. */
export type Calls = {
  readonly calls: readonly Call[]
  /** The applications whose accounts the references could name. */
  readonly appByAccount: ReadonlyMap<MapKey.MapKey, bigint>
}

type Call = {
  readonly appId: bigint
  readonly apps: Set<bigint>
  readonly assets: Set<bigint>
  readonly sender: MapKey.MapKey
  readonly accounts: Set<MapKey.MapKey>
  /** References of all kinds. */
  used: number
}

/** The references of a call. */
const places = 8

/** Returns the calls of a group. Clients add nothing to calls with access lists. */
export function callsOf(group: readonly Transaction.Transaction[], references: References): Calls {
  const calls = group.filter(({ type, al }) => type === 'appl' && al === undefined).map(callOf)
  const apps = [...references.apps, ...calls.flatMap(({ apps }) => [...apps])]
  return { calls, appByAccount: new Map(apps.map((appId) => [appAddress(appId), appId])) }
}

function callOf({ snd, apid = 0n, apat = [], apfa = [], apas = [], apbx = [] }: Transaction.Transaction): Call {
  return {
    appId: apid,
    apps: new Set(apfa),
    assets: new Set(apas),
    sender: MapKey.ofField(snd),
    accounts: new Set(apat.map(MapKey.of)),
    used: apat.length + apfa.length + apas.length + apbx.length,
  }
}

function copyOf({ apps, assets, accounts, ...rest }: Call): Call {
  return { ...rest, apps: new Set(apps), assets: new Set(assets), accounts: new Set(accounts) }
}

/** Whether the calls have fewer free places than there are references, in which case no order fits. */
export function areTooMany({ calls }: Calls, references: References): boolean {
  const { accounts, apps, assets, boxes, extraBoxReferences } = references
  const count = accounts.length + apps.length + assets.length + boxes.length + extraBoxReferences
  return count > freePlaces(calls)
}

/** Whether a client finds a place for each reference. */
export function fits(packer: Packer, { calls, appByAccount }: Calls, references: References): boolean {
  const filled = { calls: calls.map(copyOf), appByAccount }
  return addAll(packer, filled, references) && filled.calls.every(({ used }) => used <= places)
}

function freePlaces(calls: readonly Call[]): number {
  return calls.reduce((sum, { used }) => sum + Math.max(0, places - used), 0)
}

/** Adds the references in the order of the clients, and returns whether each found a call. */
function addAll(packer: Packer, group: Calls, references: References): boolean {
  const { calls } = group
  const { locals, holdings, boxes, extraBoxReferences } = references
  const accounts = new Set(references.accounts)
  const apps = new Set(references.apps)
  const assets = new Set(references.assets)
  for (const { address, id } of locals) {
    const hasApp = (call: Call) => call.apps.has(id) || call.appId === id
    if (!addPair(packer, group, address, hasApp, (call) => add(packer, call, call.apps, id))) return false
    apps.delete(id)
    if (packer.removesAddedAccounts) accounts.delete(address)
  }
  for (const { address, id } of holdings) {
    const hasAsset = (call: Call) => call.assets.has(id)
    if (!addPair(packer, group, address, hasAsset, (call) => add(packer, call, call.assets, id))) return false
    assets.delete(id)
    if (packer.removesAddedAccounts) accounts.delete(address)
  }
  for (const address of accounts) {
    const takes = packer.checksPlaceOfAccounts ? hasPlace : (call: Call) => call.accounts.size < packer.maxAccounts
    if (!addTo(calls.find(takes), (call) => add(packer, call, call.accounts, address))) return false
  }
  for (const { appId } of boxes) {
    if (!addBox(packer, calls, appId)) return false
    apps.delete(appId)
  }
  for (const id of assets) if (!addTo(calls.find(hasPlace), (call) => add(packer, call, call.assets, id))) return false
  for (const id of apps) if (!addTo(calls.find(hasPlace), (call) => add(packer, call, call.apps, id))) return false
  return extraBoxReferences <= freePlaces(calls)
}

/** Adds a holding or local state: preferably to a call that has its account or the other part already. */
function addPair(
  packer: Packer,
  { calls, appByAccount }: Calls,
  address: MapKey.MapKey,
  hasOther: (call: Call) => boolean,
  addOther: (call: Call) => void,
): boolean {
  const appId = appByAccount.get(address)
  const isAppAccount = (call: Call) => appId !== undefined && call.apps.has(appId)
  const hasAccount = (call: Call) => call.sender === address || call.accounts.has(address) || isAppAccount(call)
  const withAccount = calls.find((call) => hasPlace(call) && hasAccount(call))
  if (withAccount !== undefined) return addTo(withAccount, addOther)
  const takesAccount = (call: Call) => hasPlace(call) && call.accounts.size < packer.maxAccounts
  const withOther = calls.find((call) => takesAccount(call) && hasOther(call))
  if (withOther !== undefined) return addTo(withOther, (call) => add(packer, call, call.accounts, address))
  const takesBoth = packer.checksPlacesOfPairs
    ? (call: Call) => hasTwoPlaces(call) && call.accounts.size < packer.maxAccounts
    : hasPlace
  return addTo(calls.find(takesBoth), (call) => {
    addOther(call)
    add(packer, call, call.accounts, address)
  })
}

/** Adds a box: preferably to a call that has its application already, else together with the application. */
function addBox(packer: Packer, calls: readonly Call[], appId: bigint): boolean {
  const withApp = calls.find((call) => hasPlace(call) && (call.apps.has(appId) || call.appId === appId))
  if (withApp !== undefined) return addTo(withApp, (call) => call.used++)
  return addTo(calls.find(packer.checksPlacesOfPairs ? hasTwoPlaces : hasPlace), (call) => {
    add(packer, call, call.apps, appId)
    call.used++
  })
}

function addTo(call: Call | undefined, change: (call: Call) => void): boolean {
  if (call !== undefined) change(call)
  return call !== undefined
}

/** Adds a reference to those of its kind. */
function add<T>(packer: Packer, call: Call, kind: Set<T>, reference: T): void {
  if (packer.skipsPresent && kind.has(reference)) return
  kind.add(reference)
  call.used++
}

function hasPlace({ used }: Call): boolean {
  return used < places
}

function hasTwoPlaces({ used }: Call): boolean {
  return used < places - 1
}
