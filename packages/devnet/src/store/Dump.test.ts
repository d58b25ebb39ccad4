import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DumpError } from '../errors.js'
import type { Account } from '../ledger/Account.js'
import { Ledger } from '../ledger/Ledger.js'
import type { Snapshot } from '../ledger/LedgerChange.js'
import * as MapKey from '../ledger/MapKey.js'
import * as Dump from './Dump.js'
import { anyStep, freshLedger, genesis, LedgerSimulator, otherGenesis } from './LedgerSimulator.test.helper.js'
import '../../../../test/seed.mjs'

const { genesisHash } = genesis.chain

function filled(): LedgerSimulator {
  const simulator = new LedgerSimulator()
  simulator.fill()
  return simulator
}

const write = (snapshot: Snapshot): string => Dump.write(snapshot, genesisHash)

test('a snapshot survives writing and reading', () => {
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

test('a ledger restored from a dump continues like the original', () => {
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

test('random ledgers survive writing and reading', () => {
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

test('the genesis state can be dumped', () => {
  const { ledger } = new LedgerSimulator()
  assert.equal(write(Dump.read(write(ledger.snapshot()), genesis)), write(ledger.snapshot()))
})

// biome-ignore lint/suspicious/noExplicitAny: what is damaged is found by name
type Json = any

const rejected: readonly { what: string; damage: (document: Json) => void; pattern: RegExp }[] = [
  { what: 'another format', damage: (d) => (d.format = 'other'), pattern: /^document\.format / },
  { what: 'another version', damage: (d) => (d.version = 3), pattern: /^document\.version .*another version/ },
  { what: 'a version as text', damage: (d) => (d.version = '1'), pattern: /^document\.version / },
  {
    what: 'another network',
    damage: (d) => (d.genesisHash = Buffer.alloc(32).toString('base64')),
    pattern: /^document\.genesisHash /,
  },
  { what: 'a missing part', damage: (d) => delete d.leases, pattern: /^document has no leases/ },
  { what: 'an unknown part', damage: (d) => (d.extra = 1), pattern: /^document .*"extra"/ },
  {
    what: 'a member that is missing',
    damage: (d) => delete d.accounts[1].status,
    pattern: /^document\.accounts\[1\] has no status/,
  },
  {
    what: 'a member that is not known',
    damage: (d) => (d.blocks[0].extra = 1),
    pattern: /^document\.blocks\[0\] .*"extra"/,
  },
  {
    what: 'an integer that is a number',
    damage: (d) => (d.transactionCount = 1003),
    pattern: /^document\.transactionCount /,
  },
  {
    what: 'an integer with a leading zero',
    damage: (d) => (d.clock.aheadSeconds = '01'),
    pattern: /^document\.clock\.aheadSeconds /,
  },
  {
    what: 'an amount above 64 bits',
    damage: (d) => (d.accounts[0].microAlgos = `${2n ** 64n}`),
    pattern: /^document\.accounts\[0\]\.microAlgos is more/,
  },
  {
    what: 'a negative amount',
    damage: (d) => (d.accounts[0].microAlgos = '-1'),
    pattern: /^document\.accounts\[0\]\.microAlgos /,
  },
  {
    what: 'Algos that were made',
    damage: (d) => add(d.accounts[0], 'microAlgos', 1n),
    pattern: /^document\.accounts adds up to [0-9]+1 microAlgos/,
  },
  {
    what: 'units of an asset that were made',
    damage: (d) => add(holder(d).holdings[0], 'amount', 1n),
    pattern: /^document\.accounts adds up to .* of asset/,
  },
  {
    what: 'units of an asset that is gone',
    damage: (d) => holder(d).holdings.push({ assetId: '1003', amount: '1', frozen: false }),
    pattern: /adds up to 1 of asset 1003, but there are 0/,
  },
  { what: 'a total that changed', damage: (d) => add(d.assets[0], 'total', 1n), pattern: /adds up to .* of asset/ },
  {
    what: 'an asset from the future',
    damage: (d) => holder(d).holdings.push({ assetId: '9999', amount: '0', frozen: false }),
    pattern: /holdings\[[0-9]+\]\.assetId is not the number of a transaction/,
  },
  {
    what: 'an asset twice',
    damage: (d) => d.assets.push(d.assets[0]),
    pattern: /^document\.assets\[[0-9]+\]\.assetId is a duplicate/,
  },
  {
    what: 'a holding twice',
    damage: (d) => holder(d).holdings.push({ ...holder(d).holdings[0], amount: '0' }),
    pattern: /assetId is a duplicate/,
  },
  {
    what: 'an account twice',
    damage: (d) => d.accounts.push({ ...d.accounts[0], microAlgos: '0', holdings: [], lastHeartbeat: '1' }),
    pattern: /^document\.accounts\[[0-9]+\]\.address is a duplicate/,
  },
  {
    what: 'an empty account',
    damage: (d) => d.accounts.push(emptyAccount),
    pattern: /^document\.accounts\[[0-9]+\] is an empty account/,
  },
  {
    what: 'an unknown creator',
    damage: (d) => (d.assets[0].creator = unknown),
    pattern: /^document\.assets has asset/,
  },
  {
    what: 'an address with a wrong checksum',
    damage: (d) => (d.accounts[0].address = `${'A'.repeat(57)}B`),
    pattern: /^document\.accounts\[0\]\.address /,
  },
  {
    what: 'an unknown status',
    damage: (d) => (d.accounts[0].status = 'Asleep'),
    pattern: /^document\.accounts\[0\]\.status /,
  },
  {
    what: 'an online account without keys',
    damage: (d) => delete online(d).participation,
    pattern: /status does not match/,
  },
  {
    what: 'an account as its own authorizer',
    damage: (d) => (d.accounts[0].authorizer = d.accounts[0].address),
    pattern: /authorizer is the account itself/,
  },
  {
    what: 'bytes that are not base64',
    damage: (d) => (d.assets[0].name = 'VVNE!'),
    pattern: /^document\.assets\[0\]\.name /,
  },
  {
    what: 'a name that is too long',
    damage: (d) => (d.assets[0].name = Buffer.alloc(33).toString('base64')),
    pattern: /name has 33 bytes/,
  },
  {
    what: 'a transaction twice',
    damage: (d) => d.transactions.push(d.transactions[0]),
    pattern: /^document\.transactions\[[0-9]+\]\.id is a duplicate/,
  },
  {
    what: 'an expired transaction',
    damage: (d) => (d.transactions[0].lastValid = '1'),
    pattern: /^document\.transactions\[0\]\.lastValid has expired/,
  },
  {
    what: 'a lease for too long',
    damage: (d) => (d.leases[0].lastValid = '5000'),
    pattern: /^document\.leases\[0\]\.lastValid is more/,
  },
  {
    what: 'a lease twice',
    damage: (d) => d.leases.push(d.leases[0]),
    pattern: /^document\.leases\[1\]\.lease is a duplicate/,
  },
  {
    what: 'another count',
    damage: (d) => add(d, 'transactionCount', 1n),
    pattern: /^document\.transactionCount is not that of the last block/,
  },
  { what: 'no blocks', damage: (d) => (d.blocks = []), pattern: /^document\.blocks is empty/ },
  {
    what: 'a gap between blocks',
    damage: (d) => d.blocks.splice(1, 1),
    pattern: /^document\.blocks\[1\]\.header is of round 2, but follows round 0/,
  },
  {
    what: 'blocks that are not linked',
    damage: (d) => flip(d.blocks[0], 'header', 10),
    pattern: /^document\.blocks\[1\]\.header does not follow/,
  },
  {
    what: 'a transaction left out of a block',
    damage: (d) => d.blocks[1].transactions.pop(),
    pattern: /^document\.blocks\[1\]\.transactions /,
  },
  {
    what: 'an outcome that was not',
    damage: (d) => (d.blocks[1].transactions[0].createdAssetId = '7'),
    pattern: /^document\.blocks\[1\]\.transactions are not those/,
  },
  {
    what: 'a signature that was not',
    damage: (d) => flip(d.blocks[1].transactions[0], 'signed', 12),
    pattern: /^document\.blocks\[1\]\.transactions are not those/,
  },
  {
    what: 'a transaction that is none',
    damage: (d) => (d.blocks[1].transactions[0].signed = 'AAAA'),
    pattern: /^document\.blocks\[1\]\.transactions\[0\]\.signed /,
  },
  {
    what: 'a header that is none',
    damage: (d) => (d.blocks[0].header = 'AAAA'),
    pattern: /^document\.blocks\[0\]\.header cannot be read/,
  },
  {
    what: 'a header of another network',
    damage: (d) => (d.blocks = otherBlocks()),
    pattern: /^document\.blocks\[0\]\.header belongs to another network/,
  },
  { what: 'an empty group', damage: (d) => (d.pending[0] = ''), pattern: /^document\.pending\[0\] is not a group/ },
  {
    what: 'an unsigned group',
    damage: (d) => (d.pending[0] = flipped(d.pending[0], 12)),
    pattern: /^document\.pending\[0\] would be rejected/,
  },
]

const emptyAccount = {
  address: MapKey.address(MapKey.zero),
  microAlgos: '0',
  status: 'Offline',
  incentiveEligible: false,
  lastHeartbeat: '0',
  holdings: [],
}
const unknown = MapKey.address('\x01'.repeat(32))
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

for (const { what, damage, pattern } of rejected) {
  test(`rejects ${what}, by name`, () => {
    const document = JSON.parse(sample)
    damage(document)
    assert.throws(
      () => Dump.read(JSON.stringify(document), genesis),
      (error) =>
        error instanceof DumpError &&
        pattern.test(error.message) &&
        error.message.startsWith(error.member ?? 'no member'),
    )
  })
}

test('rejects text that is not JSON or not an object', () => {
  for (const text of ['', '{', sample.slice(0, -5), 'null', '[]', '3', '"text"']) {
    assert.throws(() => Dump.read(text, genesis), DumpError)
  }
})

test('a damaged dump throws a DumpError or is read consistently', () => {
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

test('the state hash differs between states, and is independent of order and history', () => {
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
    applications: new Map(),
    locals: new Map(),
    boxes: new Map(),
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
  // Holdings are written with their account, never without it.
  assert.equal(hashes.size, others.length + 1)
})

test('the numbers of assets held and created are computed', () => {
  const { state } = Dump.read(sample, genesis)
  const counts = ({ assetsHeld, assetsCreated }: Account): number[] => [assetsHeld, assetsCreated]
  const expected = filled().ledger.snapshot().state.accounts
  for (const [key, account] of state.accounts) assert.deepEqual(counts(account), counts(expected.get(key)!))
  assert.ok(!sample.includes('assetsHeld'))
})
