/** Tests pure functions of the first screen, labels, search, backup and renewal, bundled by Vite as in the page. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Address, Mnemonic } from '@latchkey/algorand'
import { build } from 'vite'

type Known = { address: string; label: string; walletName: string; walletId: string }
type Lifetime = { lifetimeSeconds: number; expiresAtMs: number; isFinal: boolean }
type Word = { position: number; word: string }

type Payments = {
  add(sinceMs: number, entries: readonly object[]): void
  update(statuses: readonly object[]): void
  unconfirmedCount(nowMs: number): number
}

type Model = {
  amount: { unitOf(asset: { assetId: string; unitName: string }): string; quote(text: string): string }
  backup: {
    wordsOf(key: Uint8Array): string[]
    wordsToCheck(words: readonly string[], random?: () => number): Word[]
    wrongPositions(asked: readonly Word[], typed: readonly string[]): number[]
  }
  knownAddresses: {
    knownAddresses(wallets: readonly object[], labels: ReadonlyMap<string, string>): Known[]
    matching(known: readonly Known[], text: string): Known[]
    addressOf(known: readonly Known[], text: string): string | undefined
    addressProblem(text: string, options?: { isName?: boolean }): string
  }
  payments: { Payments: new () => Payments }
  network: { networkTitle(network: string): string }
  overview: {
    totals(accounts: readonly object[]): { assetId: string; amount: bigint }[]
    nextActions(situation: object): { kind: string }[]
  }
  renewal: {
    isRenewalDue(lifetime: Lifetime, nowMs: number): boolean
    isFinal(previous: Lifetime, renewed: { expiresAtMs: number }, nowMs: number): boolean
  }
  search: { search(query: string, searchable: object): { kind: string }[] }
}

const names = ['amount', 'backup', 'knownAddresses', 'network', 'overview', 'payments', 'renewal', 'search'] as const
const directory = mkdtempSync(join(tmpdir(), 'console-everyday-'))
const model = {} as { -readonly [name in keyof Model]: Model[name] }

before(async () => {
  const folder = fileURLToPath(new URL('../console/model/', import.meta.url))
  const entry = Object.fromEntries(names.map((name) => [name, join(folder, `${name}.ts`)]))
  await build({
    configFile: false,
    logLevel: 'warn',
    build: { outDir: directory, lib: { entry, formats: ['es'], fileName: (_format, name) => `${name}.mjs` } },
  })
  for (const name of names) model[name] = await import(pathToFileURL(join(directory, `${name}.mjs`)).href)
})
after(() => rmSync(directory, { recursive: true }))

const address = (number: number): string => Address.encode(new Uint8Array(32).fill(number))
const [mine, shared, shop] = [address(1), address(2), address(3)]
const labels = new Map([
  [mine, 'Till'],
  [shop, 'Corner shop'],
])
const knownOnes = (): Known[] =>
  model.knownAddresses.knownAddresses([{ walletId: 'w', walletName: 'Daily', addresses: [mine, shared] }], labels)

test('quotes untrusted unit names unless they are one plain word', () => {
  const unit = (unitName: string, assetId = '7'): string => model.amount.unitOf({ assetId, unitName })
  assert.deepEqual(
    [unit('', '0'), unit('ALGO', '0'), unit('USDC'), unit(''), unit('ALGO'), unit('algo'), unit('my coin')],
    ['ALGO', 'ALGO', 'USDC', 'asset 7', '“ALGO”', '“algo”', '“my coin”'],
  )
  assert.equal(unit('a\u202eb”\u200b'), '“a\ufffdb\ufffd\ufffd”')
  assert.ok([...model.amount.quote('x'.repeat(500))].length < 40)
})

test('asks for two different words, in order, and names the wrong ones', () => {
  const words = Mnemonic.encode(new Uint8Array(32).fill(9)).split(' ')
  for (const [a, b] of [
    [0, 0],
    [0.999, 0.999],
    [0.5, 0],
    [0.96, 0.1],
  ] as const) {
    const randoms = [a, b]
    const asked = model.backup.wordsToCheck(words, () => randoms.shift()!)
    assert.equal(asked.length, 2)
    assert.ok(asked[0]!.position >= 1 && asked[0]!.position < asked[1]!.position && asked[1]!.position <= 25)
    for (const { position, word } of asked) assert.equal(word, words[position - 1])
    const right = asked.map(({ word }) => ` ${word.toUpperCase()} `)
    assert.deepEqual(model.backup.wrongPositions(asked, right), [])
    assert.deepEqual(model.backup.wrongPositions(asked, [right[0]!, 'wrong']), [asked[1]!.position])
    assert.deepEqual(
      model.backup.wrongPositions(asked, []),
      asked.map(({ position }) => position),
    )
  }
  const positions = new Set(Array.from({ length: 2_000 }, () => model.backup.wordsToCheck(words)[0]!.position))
  assert.ok(positions.size > 20, 'every position but the last is asked first at times')
})

test('turns a key into words and overwrites it', () => {
  const key = new Uint8Array(32).fill(9)
  assert.equal(model.backup.wordsOf(key).join(' '), Mnemonic.encode(new Uint8Array(32).fill(9)))
  assert.deepEqual(key, new Uint8Array(32))
})

test('offers own addresses first, then the address book, by label, wallet or either end', () => {
  const all = knownOnes()
  assert.deepEqual(
    all.map(({ address, label, walletName }) => [address, label, walletName]),
    [
      [mine, 'Till', 'Daily'],
      [shared, '', 'Daily'],
      [shop, 'Corner shop', ''],
    ],
  )
  const found = (text: string): string[] => model.knownAddresses.matching(all, text).map((one) => one.address)
  assert.deepEqual(found(''), [mine, shared, shop])
  assert.deepEqual(found('CORNER'), [shop])
  assert.deepEqual(found('daily'), [mine, shared])
  assert.deepEqual(found(shop.slice(0, 8).toLowerCase()), [shop])
  assert.deepEqual(found(shop.slice(-6)), [shop])
  assert.deepEqual(found(shop.slice(20, 30)), [], 'the middle of an address finds nothing')
})

test('reads an address or a whole label, and nothing in between', () => {
  const all = knownOnes()
  assert.equal(model.knownAddresses.addressOf(all, ` ${address(9)} `), address(9))
  assert.equal(model.knownAddresses.addressOf(all, 'corner SHOP'), shop)
  for (const text of ['corner', '', address(9).slice(1), `${address(9)}A`]) {
    assert.equal(model.knownAddresses.addressOf(all, text), undefined, text)
  }
})

test('a mistyped or cut off address is told as such', () => {
  const { addressProblem } = model.knownAddresses
  const whole = address(9)
  const wrong = `${whole[0] === 'A' ? 'B' : 'A'}${whole.slice(1)}`
  assert.match(addressProblem(` ${wrong} `), /checksum of this address does not match/)
  assert.match(addressProblem(whole.slice(0, 57)), /has 58 letters and digits, and this has 57/)
  assert.match(addressProblem(whole.toLowerCase()), /capital letters/)
  assert.match(addressProblem('corner shop'), /neither an address nor a name in the address book/)
  assert.match(addressProblem('corner shop', { isName: false }), /^This is not an address\./)
})

test('renews once a quarter of the lifetime has passed, and never a handle at its maximum', () => {
  const lifetime = { lifetimeSeconds: 60, expiresAtMs: 60_000, isFinal: false }
  const due = (nowMs: number, change: object = {}): boolean =>
    model.renewal.isRenewalDue({ ...lifetime, ...change }, nowMs)
  assert.deepEqual([due(0), due(14_000), due(16_000), due(59_000), due(60_001)], [false, false, true, true, false])
  assert.equal(due(30_000, { isFinal: true }), false)
  assert.equal(due(0, { lifetimeSeconds: 0, expiresAtMs: Number.POSITIVE_INFINITY }), false)
})

test("detects the daemon's maximum lifetime", () => {
  const previous = { lifetimeSeconds: 60, expiresAtMs: 60_000, isFinal: false }
  const final = (expiresAtMs: number, nowMs: number): boolean => model.renewal.isFinal(previous, { expiresAtMs }, nowMs)
  assert.equal(final(80_000, 20_000), false, 'the whole lifetime again')
  assert.equal(final(79_200, 20_000), false, 'but for the rounding')
  assert.equal(final(70_000, 20_000), true, 'what is left of the longest lifetime')
  assert.equal(final(60_000, 20_000), true)
  assert.equal(final(60_900, 1_000), false, 'too soon to tell')
  const first = { lifetimeSeconds: 0, expiresAtMs: Number.POSITIVE_INFINITY, isFinal: false }
  assert.equal(model.renewal.isFinal(first, { expiresAtMs: 60_000 }, 0), false)
})

const account = (of: string, microAlgos: string, assets: object[] = []): object => ({
  ...{ address: of, microAlgos, minMicroAlgos: '0', rekeyedTo: '' },
  assets,
})

test('sums exactly, and counts an account once', () => {
  const cents = (amount: string): object => ({ assetId: '7', amount, decimals: 2, unitName: 'CENT', isFrozen: false })
  const accounts = [
    account(mine, '9007199254740993', [cents('18446744073709551615')]),
    account(shared, '1', [cents('1')]),
    account(mine, '9007199254740993', [cents('5')]),
  ]
  assert.deepEqual(
    model.overview.totals(accounts).map(({ assetId, amount }) => [assetId, amount]),
    [
      ['0', 9_007_199_254_740_994n],
      ['7', 18_446_744_073_709_551_616n],
    ],
  )
  assert.deepEqual(
    model.overview.totals([]).map(({ amount }) => amount),
    [0n],
  )
})

const node = { isSet: true, isReachable: true, network: 'local', usdcAssetIds: ['31'] }
const situation = {
  walletIds: ['w'],
  pendingBackups: new Set<string>(),
  unlocked: [{ walletId: 'w', keys: [mine] }],
  node,
  accounts: new Map([[mine, account(mine, '0')]]),
  unconfirmedCount: 0,
}
const funded = (assets: object[] = []): object => ({ accounts: new Map([[mine, account(mine, '5', assets)]]) })
const steps: [what: string, change: object, kinds: string[]][] = [
  ['no wallet', { walletIds: [], unlocked: [] }, ['create-wallet']],
  [
    'no wallet and no node',
    { walletIds: [], unlocked: [], node: { ...node, isSet: false, isReachable: false } },
    ['create-wallet', 'set-node'],
  ],
  ['a wallet without a backup', { pendingBackups: new Set(['w']) }, ['back-up', 'fund']],
  ['a backup of a wallet that is gone', { pendingBackups: new Set(['gone']) }, ['fund']],
  ['all wallets locked', { unlocked: [] }, ['unlock']],
  ['a node that is away', { node: { ...node, isReachable: false }, accounts: undefined }, ['fix-node']],
  ['a wallet without keys', { unlocked: [{ walletId: 'w', keys: [] }] }, ['generate-key']],
  ['keys that are not loaded yet', { unlocked: [{ walletId: 'w', keys: undefined }], accounts: undefined }, []],
  ['no funds', {}, ['fund']],
  ['funds', funded(), ['opt-in']],
  ['funds and dollars', funded([{ assetId: '31', amount: '0' }]), []],
  ['a network without dollars', { ...funded(), node: { ...node, usdcAssetIds: [] } }, []],
  ['a payment that the network does not have', { ...funded(), unconfirmedCount: 2 }, ['unconfirmed', 'opt-in']],
]
for (const [what, change, kinds] of steps) {
  test(`the next useful action with ${what}: ${kinds.join(', ') || 'none'}`, () => {
    assert.deepEqual(
      model.overview.nextActions({ ...situation, ...change }).map(({ kind }) => kind),
      kinds,
    )
  })
}

const entry = (transactionId: string, receiver: string): object => ({
  ...{ number: 1, atMs: 0, walletName: 'w', transactionId, program: '', type: 'pay', sender: mine, receiver },
  ...{
    amount: '1',
    assetId: '0',
    unitName: 'ALGO',
    decimals: 6,
    feeMicroAlgos: '1000',
    isMultisig: false,
    warnings: [],
  },
})

test('search finds wallets by name, addresses by label, and transactions by id or receiver, up to a limit', () => {
  const searchable = {
    wallets: [{ id: 'abc123', name: 'Corner money' }],
    nameOf: (wallet: { name: string }) => wallet.name,
    known: knownOnes(),
    entries: [entry('TXONE', shop), entry('TXTWO', shared), entry('TXONE', shop)],
  }
  const kinds = (query: string): string[] => model.search.search(query, searchable).map(({ kind }) => kind)
  assert.deepEqual(kinds('  '), [])
  assert.deepEqual(kinds('corner'), ['wallet', 'address', 'transaction'])
  assert.deepEqual(kinds('abc1'), ['wallet'])
  assert.deepEqual(kinds('txtwo'), ['transaction'])
  assert.deepEqual(kinds('tx'), ['transaction', 'transaction'], 'a transaction that was signed twice is found once')
  assert.deepEqual(kinds(shop), ['address', 'transaction'])
  assert.deepEqual(kinds(address(77)), ['new-address'])
  assert.deepEqual(kinds('nothing like it'), [])
  const many = { ...searchable, entries: Array.from({ length: 1_000 }, (_, index) => entry(`TX${index}`, shop)) }
  assert.ok(model.search.search('tx', many).length <= 6)
})

test('counts recently signed transactions that are not on the ledger, once each', () => {
  const minute = 60_000
  const payments = new model.payments.Payments()
  const signed = ['confirmed', 'missing', 'missing', 'pending', 'new', 'old', 'not asked yet']
  const ages = [1, 1, 1, 1, 0, 50, 1]
  const entries = signed.map((id, index) => ({
    ...entry(id, shop),
    ...{ number: index + 1, atMs: 100 * minute - ages[index]! * minute },
  }))
  payments.add(1, [...entries, { ...entry('', shop), number: 9, atMs: 99 * minute, program: 'PROGRAM' }])
  const state = (transactionId: string, state: string): object => ({ transactionId, state, round: 0 })
  payments.update([
    ...[state('confirmed', 'confirmed'), state('missing', 'unknown'), state('pending', 'pending')],
    ...[state('new', 'unknown'), state('old', 'unknown')],
  ])
  assert.equal(payments.unconfirmedCount(100 * minute), 2)
})

test('names networks for people', () => {
  assert.deepEqual(['mainnet', 'testnet', 'betanet', 'local'].map(model.network.networkTitle), [
    'MainNet',
    'TestNet',
    'BetaNet',
    'Local network',
  ])
})
