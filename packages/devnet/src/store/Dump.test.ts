import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Account } from '../ledger/Account.js'
import { Ledger } from '../ledger/Ledger.js'
import * as MapKey from '../ledger/MapKey.js'
import type { Snapshot } from '../ledger/Snapshot.js'
import * as Dump from './Dump.js'
import { DumpError } from './DumpError.js'
import { anyStep, freshLedger, genesis, LedgerSimulator, otherGenesis } from './LedgerSimulator.test.helper.js'

const { genesisHash } = genesis.chain

function filled(): LedgerSimulator {
  const simulator = new LedgerSimulator()
  simulator.fill()
  return simulator
}

const write = (snapshot: Snapshot): string => Dump.write(snapshot, genesisHash)

test('a snapshot is the same after it was written and read', () => {
  const snapshot = filled().ledger.snapshot()
  const { state, pending, blocks } = snapshot
  for (const part of [state.leases, state.transactions, state.assets, state.holdings]) assert.ok(part.size > 0)
  assert.ok(pending.length > 0 && blocks.some(({ transactions }) => transactions.length > 0))
  assert.ok([...state.accounts.values()].some(({ participation }) => participation !== undefined))
  assert.ok([...state.accounts.values()].some(({ authorizer }) => authorizer !== undefined))
  const read = Dump.read(write(snapshot), genesis)
  assert.equal(write(read), write(snapshot))
  assert.equal(Dump.hash(read), Dump.hash(snapshot))
  const derived = (one: Snapshot): unknown =>
    one.blocks.map(({ round, timestamp, hash, hash512, transactions }) => {
      const keys = transactions.map(({ key }) => key)
      return [round, timestamp, MapKey.of(hash), MapKey.of(hash512), keys]
    })
  assert.deepEqual(derived(read), derived(snapshot))
})

test('a ledger that a dump was loaded into goes on like the one it was taken from', () => {
  const { ledger } = filled()
  const other = freshLedger()
  other.restore(Dump.read(write(ledger.snapshot()), genesis))
  assert.equal(Dump.hash(other.snapshot()), Dump.hash(ledger.snapshot()))
  assert.equal(other.pendingGroups().length, ledger.pendingGroups().length)
  for (const one of [ledger, other]) {
    one.setOffset(3n)
    one.clock.state = { ...one.clock.state, aheadSeconds: 0n }
    for (let round = 0; round < 25; round++) one.closeBlock()
  }
  assert.equal(write(other.snapshot()), write(ledger.snapshot()))
})

test('whatever happened to a ledger, its dump is read as it was written', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 40 }), (steps) => {
      const simulator = new LedgerSimulator()
      for (const step of steps) simulator.perform(step)
      const text = write(simulator.ledger.snapshot())
      const read = Dump.read(text, genesis)
      assert.equal(write(read), text)
      const other = freshLedger()
      other.restore(read)
      assert.equal(write(other.snapshot()), text)
    }),
    { numRuns: 60 },
  )
})

test('the beginning of a ledger can be dumped', () => {
  const { ledger } = new LedgerSimulator()
  assert.equal(write(Dump.read(write(ledger.snapshot()), genesis)), write(ledger.snapshot()))
})

// biome-ignore lint/suspicious/noExplicitAny: what is damaged is found by name
type Json = any

const refused: readonly { what: string; damage: (document: Json) => void; says: RegExp }[] = [
  { what: 'another format', damage: (d) => (d.format = 'other'), says: /^document\.format / },
  { what: 'another version', damage: (d) => (d.version = 2), says: /^document\.version .*another version/ },
  { what: 'a version as text', damage: (d) => (d.version = '1'), says: /^document\.version / },
  {
    what: 'another network',
    damage: (d) => (d.genesisHash = Buffer.alloc(32).toString('base64')),
    says: /^document\.genesisHash /,
  },
  { what: 'a part that is missing', damage: (d) => delete d.leases, says: /^document has no leases/ },
  { what: 'a part that is not known', damage: (d) => (d.extra = 1), says: /^document .*"extra"/ },
  {
    what: 'a member that is missing',
    damage: (d) => delete d.accounts[1].status,
    says: /^document\.accounts\[1\] has no status/,
  },
  {
    what: 'a member that is not known',
    damage: (d) => (d.blocks[0].extra = 1),
    says: /^document\.blocks\[0\] .*"extra"/,
  },
  {
    what: 'an integer that is a number',
    damage: (d) => (d.transactionCount = 1003),
    says: /^document\.transactionCount /,
  },
  {
    what: 'an integer with a leading zero',
    damage: (d) => (d.clock.aheadSeconds = '01'),
    says: /^document\.clock\.aheadSeconds /,
  },
  {
    what: 'an amount above 64 bits',
    damage: (d) => (d.accounts[0].microAlgos = `${2n ** 64n}`),
    says: /^document\.accounts\[0\]\.microAlgos is more/,
  },
  {
    what: 'a negative amount',
    damage: (d) => (d.accounts[0].microAlgos = '-1'),
    says: /^document\.accounts\[0\]\.microAlgos /,
  },
  {
    what: 'Algos that were made',
    damage: (d) => add(d.accounts[0], 'microAlgos', 1n),
    says: /^document\.accounts adds up to [0-9]+1 microAlgos/,
  },
  {
    what: 'units of an asset that were made',
    damage: (d) => add(holder(d).holdings[0], 'amount', 1n),
    says: /^document\.accounts adds up to .* of asset/,
  },
  {
    what: 'units of an asset that is gone',
    damage: (d) => holder(d).holdings.push({ assetId: '1003', amount: '1', frozen: false }),
    says: /adds up to 1 of asset 1003, and there are 0/,
  },
  { what: 'a total that changed', damage: (d) => add(d.assets[0], 'total', 1n), says: /adds up to .* of asset/ },
  {
    what: 'an asset from the future',
    damage: (d) => holder(d).holdings.push({ assetId: '9999', amount: '0', frozen: false }),
    says: /holdings\[[0-9]+\]\.assetId is not the number of a transaction/,
  },
  {
    what: 'an asset twice',
    damage: (d) => d.assets.push(d.assets[0]),
    says: /^document\.assets\[[0-9]+\]\.assetId is a duplicate/,
  },
  {
    what: 'a holding twice',
    damage: (d) => holder(d).holdings.push({ ...holder(d).holdings[0], amount: '0' }),
    says: /assetId is a duplicate/,
  },
  {
    what: 'an account twice',
    damage: (d) => d.accounts.push({ ...d.accounts[0], microAlgos: '0', holdings: [], lastHeartbeat: '1' }),
    says: /^document\.accounts\[[0-9]+\]\.address is a duplicate/,
  },
  {
    what: 'an account that is none',
    damage: (d) => d.accounts.push(noAccount),
    says: /^document\.accounts\[[0-9]+\] is an empty account/,
  },
  {
    what: 'a creator that is nobody',
    damage: (d) => (d.assets[0].creator = nobody),
    says: /^document\.assets has asset/,
  },
  {
    what: 'an address with a wrong checksum',
    damage: (d) => (d.accounts[0].address = `${'A'.repeat(57)}B`),
    says: /^document\.accounts\[0\]\.address /,
  },
  {
    what: 'a status that is none',
    damage: (d) => (d.accounts[0].status = 'Asleep'),
    says: /^document\.accounts\[0\]\.status /,
  },
  {
    what: 'somebody online without keys',
    damage: (d) => delete online(d).participation,
    says: /status does not match/,
  },
  {
    what: 'an authorizer that is oneself',
    damage: (d) => (d.accounts[0].authorizer = d.accounts[0].address),
    says: /authorizer is the account itself/,
  },
  {
    what: 'bytes that are not base64',
    damage: (d) => (d.assets[0].name = 'VVNE!'),
    says: /^document\.assets\[0\]\.name /,
  },
  {
    what: 'a name that is too long',
    damage: (d) => (d.assets[0].name = Buffer.alloc(33).toString('base64')),
    says: /name has 33 bytes/,
  },
  {
    what: 'a transaction twice',
    damage: (d) => d.transactions.push(d.transactions[0]),
    says: /^document\.transactions\[[0-9]+\]\.id is a duplicate/,
  },
  {
    what: 'a transaction that is over',
    damage: (d) => (d.transactions[0].lastValid = '1'),
    says: /^document\.transactions\[0\]\.lastValid has expired/,
  },
  {
    what: 'a lease for too long',
    damage: (d) => (d.leases[0].lastValid = '5000'),
    says: /^document\.leases\[0\]\.lastValid is more/,
  },
  {
    what: 'a lease twice',
    damage: (d) => d.leases.push(d.leases[0]),
    says: /^document\.leases\[1\]\.lease is a duplicate/,
  },
  {
    what: 'another count',
    damage: (d) => add(d, 'transactionCount', 1n),
    says: /^document\.transactionCount is not that of the last block/,
  },
  { what: 'no blocks', damage: (d) => (d.blocks = []), says: /^document\.blocks is empty/ },
  {
    what: 'a gap between blocks',
    damage: (d) => d.blocks.splice(1, 1),
    says: /^document\.blocks\[1\]\.header is that of round 2, after one of round 0/,
  },
  {
    what: 'blocks that are not linked',
    damage: (d) => flip(d.blocks[0], 'header', 10),
    says: /^document\.blocks\[1\]\.header does not follow/,
  },
  {
    what: 'a transaction left out of a block',
    damage: (d) => d.blocks[1].transactions.pop(),
    says: /^document\.blocks\[1\]\.transactions /,
  },
  {
    what: 'an outcome that was not',
    damage: (d) => (d.blocks[1].transactions[0].createdAssetId = '7'),
    says: /^document\.blocks\[1\]\.transactions are not those/,
  },
  {
    what: 'a signature that was not',
    damage: (d) => flip(d.blocks[1].transactions[0], 'signed', 12),
    says: /^document\.blocks\[1\]\.transactions are not those/,
  },
  {
    what: 'a transaction that is none',
    damage: (d) => (d.blocks[1].transactions[0].signed = 'AAAA'),
    says: /^document\.blocks\[1\]\.transactions\[0\]\.signed /,
  },
  {
    what: 'a header that is none',
    damage: (d) => (d.blocks[0].header = 'AAAA'),
    says: /^document\.blocks\[0\]\.header cannot be read/,
  },
  {
    what: 'a header of another network',
    damage: (d) => (d.blocks = otherBlocks()),
    says: /^document\.blocks\[0\]\.header is of another network/,
  },
  { what: 'an empty group', damage: (d) => (d.pending[0] = ''), says: /^document\.pending\[0\] is not a group/ },
  {
    what: 'a group that nobody signed',
    damage: (d) => (d.pending[0] = flipped(d.pending[0], 12)),
    says: /^document\.pending\[0\] would be rejected/,
  },
]

const noAccount = {
  address: MapKey.address(MapKey.zero),
  microAlgos: '0',
  status: 'Offline',
  incentiveEligible: false,
  lastHeartbeat: '0',
  holdings: [],
}
const nobody = MapKey.address('\x01'.repeat(32))
const holder = (document: Json): Json => document.accounts.find((one: Json) => one.holdings.length > 0)
const online = (document: Json): Json => document.accounts.find((one: Json) => one.status === 'Online')
const otherBlocks = (): Json =>
  JSON.parse(Dump.write(new Ledger({ genesis: otherGenesis }).snapshot(), otherGenesis.chain.genesisHash)).blocks

function add(object: Json, name: string, amount: bigint): void {
  object[name] = `${BigInt(object[name]) + amount}`
}

function flip(object: Json, name: string, at: number): void {
  object[name] = flipped(object[name], at)
}

function flipped(text: string, at: number): string {
  const bytes = Buffer.from(text, 'base64')
  bytes[at < 0 ? bytes.length + at : at]! ^= 1
  return bytes.toString('base64')
}

const sample = write(filled().ledger.snapshot())

for (const { what, damage, says } of refused) {
  test(`refused, by name: ${what}`, () => {
    const document = JSON.parse(sample)
    damage(document)
    assert.throws(
      () => Dump.read(JSON.stringify(document), genesis),
      (error) =>
        error instanceof DumpError && says.test(error.message) && error.message.startsWith(error.member ?? 'no member'),
    )
  })
}

test('refused: what is not JSON, and what is not an object', () => {
  for (const text of ['', '{', sample.slice(0, -5), 'null', '[]', '3', '"text"']) {
    assert.throws(() => Dump.read(text, genesis), DumpError)
  }
})

test('a dump that was damaged anywhere is refused with a DumpError or read as something whole', () => {
  fc.assert(
    fc.property(fc.nat({ max: sample.length - 1 }), fc.constantFrom('0', '9', 'A', '"', ',', '}'), (at, character) => {
      try {
        const read = Dump.read(sample.slice(0, at) + character + sample.slice(at + 1), genesis)
        freshLedger().restore(read)
      } catch (error) {
        assert.ok(error instanceof DumpError, String(error))
      }
    }),
    { numRuns: 150 },
  )
})

test('the hash tells states apart, and neither order nor history counts', () => {
  const { ledger } = filled()
  const snapshot = ledger.snapshot()
  const hash = Dump.hash(snapshot)
  assert.match(hash, /^[A-Z2-7]{52}$/)
  const reversed = <K, V>(map: ReadonlyMap<K, V>): Map<K, V> => new Map([...map].reverse())
  const { accounts, holdings, assets, transactions, leases, transactionCount } = snapshot.state
  const state = {
    accounts: reversed(accounts),
    holdings: reversed(holdings),
    assets: reversed(assets),
    transactions: reversed(transactions),
    leases: reversed(leases),
    transactionCount,
  }
  assert.equal(Dump.hash({ ...snapshot, state, blocks: snapshot.blocks.slice(-1) }), hash)
  const without = <K, V>(map: ReadonlyMap<K, V>): Map<K, V> => new Map([...map].slice(1))
  const others: Snapshot[] = [
    { ...snapshot, blocks: snapshot.blocks.slice(0, -1) },
    { ...snapshot, pending: snapshot.pending.slice(1) },
    { ...snapshot, clock: { ...snapshot.clock, aheadSeconds: 1n } },
    ...[{ accounts: without(accounts) }, { holdings: without(holdings) }, { assets: without(assets) }].map(
      (change) => ({ ...snapshot, state: { ...snapshot.state, ...change } }),
    ),
    ...[{ transactions: without(transactions) }, { leases: without(leases) }, { transactionCount: 1n }].map(
      (change) => ({ ...snapshot, state: { ...snapshot.state, ...change } }),
    ),
  ]
  const hashes = new Set([hash, ...others.map(Dump.hash)])
  // An account's holdings are written with the account; without it they are not there to be seen.
  assert.equal(hashes.size, others.length + 1)
})

test('how many assets an account holds and created is worked out, not believed', () => {
  const { state } = Dump.read(sample, genesis)
  const counts = ({ assetsHeld, assetsCreated }: Account): number[] => [assetsHeld, assetsCreated]
  const expected = filled().ledger.snapshot().state.accounts
  for (const [key, account] of state.accounts) assert.deepEqual(counts(account), counts(expected.get(key)!))
  assert.ok(!sample.includes('assetsHeld'))
})
