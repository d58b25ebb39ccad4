import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address as UtilsAddress } from '@algorandfoundation/algokit-utils'
import { Address, type Transaction } from '@latchkey/algorand'
import type { UnnamedSet } from '@latchkey/avm'
import fc from 'fast-check'
import * as MapKey from '../ledger/MapKey.js'
import { appAddress } from '../ledger/programs/AppRecords.js'
import * as ReferenceOrder from './ReferenceOrder.js'
import * as ReferencePacker from './ReferencePacker.js'
import '../../../../test/seed.mjs'

type References = ReferencePacker.References
type Txn = Transaction.Transaction

/** The packer of the installed AlgoKit utils, which is not one of the exported modules. */
const packer = new URL('./transactions/app-call.mjs', import.meta.resolve('@algorandfoundation/algokit-utils'))
const { populateGroupResources } = await import(packer.href)

const usualRuns = 200
const numRuns = Math.max(usualRuns, Math.floor(Number(process.env['LATCHKEY_FUZZ'] ?? 0) / 20))
const randomOrders = 10
const places = 8

const key = (byte: number) => MapKey.of(new Uint8Array(32).fill(byte))
const appIds = [1001n, 1002n, 1003n, 1004n, 1005n, 1006n]
const assetIds = [2001n, 2002n, 2003n]
const sender = key(1)
const accountKeys = [key(2), key(3), key(4), appAddress(1002n)]
const app = fc.constantFrom(...appIds)
const account = fc.constantFrom(...accountKeys)
const asset = fc.constantFrom(...assetIds)

const call: fc.Arbitrary<Txn> = fc
  .record({
    apid: fc.constantFrom(1001n, 1001n, 1002n),
    apfa: fc.array(app, { maxLength: 1 }),
    apat: fc.array(account.map(MapKey.bytes), { maxLength: 1 }),
    apbx: fc.array(fc.constant({ n: Buffer.from('named') }), { maxLength: 1 }),
  })
  .map((fields) => ({ type: 'appl', snd: MapKey.bytes(sender), ...fields }) as Txn)

/** What the programs of a group use, in the order of their accesses. */
const use = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('boxes' as const), app, count: fc.integer({ min: 1, max: 6 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('holding' as const), account, asset }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('local' as const), account, app }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('account' as const), account }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('extra' as const) }) },
)
type Use = typeof use extends fc.Arbitrary<infer T> ? T : never

const scenario = fc.record({
  group: fc.array(call, { minLength: 1, maxLength: 5 }),
  uses: fc.array(use, { minLength: 1, maxLength: 12 }),
  share: fc.double({ min: 0.3, max: 1, noNaN: true }),
  orders: fc.array(fc.infiniteStream(fc.nat(999_999)), { minLength: randomOrders, maxLength: randomOrders }),
})

/** The resources that are used before the group has no place for another one. */
function setOf(group: readonly Txn[], uses: readonly Use[], share: number): UnnamedSet {
  const set = {
    accounts: new Set<string>(),
    assets: new Set<bigint>(),
    apps: new Set<bigint>(),
    holdings: new Map<string, { address: string; id: bigint }>(),
    locals: new Map<string, { address: string; id: bigint }>(),
    boxes: [] as { appId: bigint; name: string }[],
    extraBoxReferences: 0,
  }
  const free = group.reduce((sum, txn) => sum + places - referencesOf(txn), 0)
  const count = () => set.accounts.size + set.assets.size + set.apps.size + set.boxes.length + set.extraBoxReferences
  const useApp = (appId: bigint) => {
    if (!group.some(({ apid, apfa }) => apid === appId || apfa?.includes(appId))) set.apps.add(appId)
  }
  const useAccount = (address: string) => {
    if (!group.some(({ apat }) => apat?.some((one) => MapKey.of(one) === address))) set.accounts.add(address)
  }
  const names = uses.flatMap<Use>((one) =>
    one.kind === 'boxes' ? Array.from({ length: one.count }, () => one) : [one],
  )
  for (const one of names) {
    if (count() >= free * share) break
    if (one.kind === 'boxes') {
      useApp(one.app)
      set.boxes.push({ appId: one.app, name: `box ${set.boxes.length}` })
    } else if (one.kind === 'extra') set.extraBoxReferences++
    else useAccount(one.account)
    if (one.kind === 'holding') {
      set.assets.add(one.asset)
      set.holdings.set(`${one.account}/${one.asset}`, { address: one.account, id: one.asset })
    }
    if (one.kind === 'local') {
      useApp(one.app)
      set.locals.set(`${one.account}/${one.app}`, { address: one.account, id: one.app })
    }
  }
  return set as unknown as UnnamedSet
}

function referencesOf({ apat = [], apfa = [], apas = [], apbx = [] }: Txn): number {
  return apat.length + apfa.length + apas.length + apbx.length
}

/** The random order of a node. */
function inRandomOrder(set: UnnamedSet, random: Iterator<number>): References {
  const shuffle = <T>(list: Iterable<T>): T[] =>
    [...list]
      .map((value) => [random.next().value as number, value] as const)
      .sort(([a], [b]) => a - b)
      .map(([, value]) => value)
  return {
    accounts: shuffle(set.accounts),
    apps: shuffle(set.apps),
    assets: shuffle(set.assets),
    boxes: shuffle(set.boxes),
    holdings: shuffle(set.holdings.values()),
    locals: shuffle(set.locals.values()),
    extraBoxReferences: set.extraBoxReferences,
  }
}

/** Whether the installed AlgoKit utils complete a group. */
function completes(group: readonly Txn[], { accounts, apps, assets, boxes, ...rest }: References): boolean {
  const address = (one: string) => UtilsAddress.fromString(Address.encode(MapKey.bytes(one)))
  const calls = group.map(({ apid, snd, apat = [], apfa = [], apbx = [] }) => ({
    type: 'appl',
    sender: address(MapKey.ofField(snd)),
    appCall: {
      appId: apid,
      accountReferences: apat.map((one) => address(MapKey.of(one))),
      appReferences: [...apfa],
      assetReferences: [],
      boxReferences: apbx.map(({ n }) => ({ appId: 0n, name: n })),
    },
  }))
  try {
    populateGroupResources(calls, {
      accounts: accounts.map(address),
      apps,
      assets,
      boxes: boxes.map(({ appId, name }) => ({ appId, name: MapKey.bytes(name) })),
      assetHoldings: rest.holdings.map((one) => ({ address: address(one.address), assetId: one.id })),
      appLocals: rest.locals.map((one) => ({ address: address(one.address), appId: one.id })),
      extraBoxRefs: rest.extraBoxReferences,
    })
  } catch (error) {
    assert.match(String(error), /below reference limit/)
    return false
  }
  return calls.every(({ appCall: { accountReferences, appReferences, assetReferences, boxReferences } }) => {
    return accountReferences.length + appReferences.length + assetReferences.length + boxReferences.length <= places
  })
}

test('clients complete a group in this order if they complete it in half of the random orders of a node', () => {
  const property = fc.property(scenario, ({ group, uses, share, orders }) => {
    const set = setOf(group, uses, share)
    const own = ReferenceOrder.packable(set, group)
    const random = orders.map((numbers) => inRandomOrder(set, numbers[Symbol.iterator]()))
    const calls = ReferencePacker.callsOf(group, own)
    const clients = [
      ...ReferencePacker.packers.map((packer) => (order: References) => ReferencePacker.fits(packer, calls, order)),
      (order: References) => completes(group, order),
    ]
    for (const client of clients) {
      const completed = random.filter(client).length
      if (completed >= randomOrders / 2) assert.ok(client(own), `${completed} of ${randomOrders} random orders`)
    }
  })
  fc.assert(property, { numRuns })
})

test('the order does not depend on the order of the accesses', () => {
  const property = fc.property(scenario, ({ group, uses, share, orders }) => {
    const set = setOf(group, uses, share)
    const { accounts, apps, assets, boxes, holdings, locals, ...rest } = inRandomOrder(
      set,
      orders[0]![Symbol.iterator](),
    )
    const pairs = (list: References['holdings']) => new Map(list.map((one) => [`${one.address}/${one.id}`, one]))
    const other = {
      accounts: new Set(accounts),
      apps: new Set(apps),
      assets: new Set(assets),
      boxes,
      holdings: pairs(holdings),
      locals: pairs(locals),
      ...rest,
    }
    const expected = ReferenceOrder.packable(set, group)
    assert.deepEqual(ReferenceOrder.packable(other as unknown as UnnamedSet, group), expected)
  })
  fc.assert(property, { numRuns })
})

test('a box of another application is not reported when a client would add it to a call with one free place', () => {
  const call: Txn = { type: 'appl', snd: MapKey.bytes(sender), apid: 1001n } as Txn
  const group = [call, call]
  const boxes = [...'abcdefg'].map((name) => ({ appId: 1001n, name }))
  const set = setOf(group, [], 1)
  set.boxes.push(...boxes, { appId: 1002n, name: 'h' })
  set.apps.add(1002n)
  const [python] = ReferencePacker.packers
  const calls = ReferencePacker.callsOf(group, ReferenceOrder.sorted(set))
  assert.equal(ReferencePacker.fits(python!, calls, ReferenceOrder.sorted(set)), false, 'in ascending order')
  const order = ReferenceOrder.packable(set, group)
  for (const packer of ReferencePacker.packers) assert.ok(ReferencePacker.fits(packer, calls, order), packer.name)
})

test('a group with too few places is reported in ascending order', () => {
  const call: Txn = { type: 'appl', snd: MapKey.bytes(sender), apid: 1001n } as Txn
  const set = setOf([call], [], 1)
  for (const name of 'ihgfedcba') set.boxes.push({ appId: 1001n, name })
  const { boxes } = ReferenceOrder.packable(set, [call])
  assert.deepEqual(boxes.map(({ name }) => name).join(''), 'abcdefghi')
})
