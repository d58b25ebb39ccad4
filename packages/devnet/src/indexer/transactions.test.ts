import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alice, bob, carol, indexedHistory, jointAddress } from '../testing/indexedHistory.test.helper.js'
import { createAsset, errorMessageOf, sign } from '../testing/TestNode.test.helper.js'

const base64 = (value: string | Uint8Array): string => encodeURIComponent(Buffer.from(value).toString('base64'))
const time = (timestamp: bigint): string => new Date(Number(timestamp) * 1000).toISOString()

test('a search without filters finds all transactions, oldest first; one of an account, newest first', async () => {
  const { node, ids, names } = await indexedHistory()
  assert.deepEqual(names(await node.ids('/v2/transactions')), [...ids.keys()])
  const others = ['create', 'configure', 'destroy', 'fund joint']
  assert.deepEqual(
    names(await node.ids(`/v2/accounts/${bob.address}/transactions`)),
    [...ids.keys()].filter((name) => !others.includes(name)).reverse(),
  )
})

test('every filter keeps what it names', async () => {
  const { node, assetId, groupId, ids, names, roundOf } = await indexedHistory()
  const assetNames = ['create', 'opt in', 'transfer', 'freeze', 'claw back', 'opt out', 'configure', 'destroy']
  const close = roundOf('close')
  const from = (name: string): string[] => [...ids.keys()].slice([...ids.keys()].indexOf(name))
  const upTo = (name: string): string[] => [...ids.keys()].slice(0, [...ids.keys()].indexOf(name) + 1)
  const cases: [query: string, names: string[]][] = [
    ['tx-type=acfg', ['create', 'configure', 'destroy']],
    ['tx-type=AFRZ', ['freeze']],
    ['tx-type=keyreg', ['key registration']],
    ['tx-type=appl', []],
    ['sig-type=msig', ['joint']],
    ['sig-type=lsig', []],
    [`asset-id=${assetId}`, assetNames],
    [`application-id=${assetId}`, assetNames],
    [`asset-id=${assetId}&currency-greater-than=100`, ['transfer']],
    [`asset-id=${assetId}&currency-less-than=300`, ['claw back']],
    ['tx-type=axfer&currency-greater-than=0', ['transfer', 'claw back']],
    ['currency-greater-than=999', ['pay', 'fund joint']],
    ['currency-greater-than=1&currency-less-than=9', ['close', 'first of group', 'second of group', 'joint']],
    [`note-prefix=${base64('invoice')}`, ['pay', 'zero']],
    [`note-prefix=${base64('invoice 2')}`, ['zero']],
    [`note-prefix=${base64('invoice 22')}`, []],
    ['rekey-to=true', ['rekey']],
    ['rekey-to=false&limit=1', [...ids.keys()]],
    [`group-id=${base64(groupId)}`, ['first of group', 'second of group']],
    [`txid=${ids.get('freeze')}`, ['freeze']],
    [`txid=${ids.get('freeze')}&tx-type=pay`, []],
    [`txid=${ids.get('freeze')}&address=${bob.address}`, ['freeze']],
    [`txid=${ids.get('freeze')}&address=${carol.address}`, []],
    [`round=${close}`, ['close']],
    [`min-round=${close}`, from('close')],
    [`max-round=${close}`, upTo('close')],
    [`min-round=${close}&max-round=${close + 1n}`, ['close', 'rekey']],
    [`address=${carol.address}`, ['close']],
    [`address=${jointAddress}&address-role=sender`, ['joint']],
    [`address=${jointAddress}&address-role=receiver`, ['fund joint']],
    [
      `address=${bob.address}&address-role=sender`,
      ['rekeyed', 'rekey', 'key registration', 'opt out', 'claw back', 'opt in'],
    ],
    [`address=${bob.address}&address-role=freeze-target`, ['freeze']],
    [`address=${alice.address}&address-role=receiver`, ['rekeyed', 'close', 'opt out', 'claw back']],
    [`address=${alice.address}&address-role=receiver&exclude-close-to=true`, ['rekeyed', 'opt out', 'claw back']],
    [`address=${alice.address}&asset-id=${assetId}&address-role=receiver`, ['opt out', 'claw back']],
  ]
  for (const [query, expected] of cases) {
    assert.deepEqual(names(await node.ids(`/v2/transactions?${query}`)), expected, query)
  }
  assert.deepEqual(names(await node.ids(`/v2/assets/${assetId}/transactions`)), assetNames)
  assert.deepEqual(names(await node.ids(`/v2/assets/${assetId}/transactions?tx-type=afrz`)), ['freeze'])
  // The role is not a parameter of this endpoint.
  const sent = await node.ids(`/v2/accounts/${carol.address}/transactions?address-role=freeze-target`)
  assert.deepEqual(names(sent), ['close'])
})

test('times are exclusive', async () => {
  const { node, names, ids, roundOf } = await indexedHistory()
  const before = [...ids.keys()]
  node.ledger.setTime(node.ledger.last.timestamp + 100n)
  const late = await node.send(sign(node.pay(alice, bob, 1n), alice))
  const { timestamp } = node.ledger.last
  const first = node.ledger.block(roundOf('joint'))!.timestamp
  const search = async (query: string): Promise<string[]> => names(await node.ids(`/v2/transactions?${query}`))
  assert.deepEqual(await search(`before-time=${time(timestamp)}`), before)
  assert.deepEqual(await search(`before-time=${time(timestamp + 1n)}`), [...before, late])
  assert.deepEqual(await search(`after-time=${time(first)}`), [late])
  assert.deepEqual(await search(`after-time=${time(timestamp)}`), [])
  assert.deepEqual(await search('before-time=2001-01-01'), [])
  assert.deepEqual(await search(`after-time=${time(first).replace('.000Z', '%2B00:00')}`), [late])
})

test('pages follow each other without gaps while blocks are added', async () => {
  const { node, ids } = await indexedHistory()
  const expected = [...ids.values()]
  for (const [target, order] of [
    ['/v2/transactions', expected],
    [`/v2/accounts/${alice.address}/transactions`, undefined],
  ] as const) {
    const all = order ?? (await node.ids(target))
    const found: string[] = []
    let next = ''
    while (found.length < all.length) {
      const page = await node.read(`${target}?limit=3${next}`)
      assert.ok(page.transactions.length > 0 && page.transactions.length <= 3)
      for (const { id } of page.transactions) found.push(id)
      next = `&next=${encodeURIComponent(page['next-token'])}`
      await node.send(sign(node.pay(alice, bob, 1n), alice))
    }
    assert.deepEqual(found.slice(0, all.length), all)
  }
})

test('a page without results has no token', async () => {
  const { node } = await indexedHistory()
  const page = await node.read('/v2/transactions?tx-type=appl')
  assert.deepEqual(page, { 'current-round': Number(node.ledger.last.round), transactions: [] })
})

test('a transaction is found by its id, and another id is not', async () => {
  const { node, ids } = await indexedHistory()
  const id = ids.get('second of group')!
  const { transaction, 'current-round': round } = await node.read(`/v2/transactions/${id}`)
  assert.equal(round, Number(node.ledger.last.round))
  assert.equal(transaction.id, id)
  assert.equal(transaction['intra-round-offset'], 1)
  const unknown = 'A'.repeat(52)
  const missing = await node.ask(`/v2/transactions/${unknown}`)
  assert.equal(errorMessageOf(missing, 404), `no transaction found for transaction id: ${unknown}`)
  assert.match(
    errorMessageOf(await node.ask('/v2/transactions/a!')),
    /^invalid input: unable to parse base32 digest data 'txid'/,
  )
})

test('invalid parameters get the errors of an indexer', async () => {
  const { node } = await indexedHistory()
  const tooLarge =
    'searching by round or application-id or asset-id or filter by value greater than 9223372036854775807 is not supported'
  const zero = 'searching transactions by zero address with'
  const cases: [query: string, message: string, status?: number][] = [
    [
      'limit=x',
      'Invalid format for parameter limit: error binding string parameter: strconv.ParseUint: parsing "x": invalid syntax',
    ],
    ['note-prefix=!', "invalid input: unable to parse base64 data: 'note-prefix'"],
    ['group-id=AAAA', "invalid input: bad length for group ID: 'group-id'"],
    ['tx-type=x', "invalid input: unknown tx-type [valid types: pay, keyreg, acfg, axfer, afrz, appl, stpf, hb]: 'x'"],
    ['sig-type=x', "invalid input: unknown sig-type [valid types: sig, msig, lsig]: 'x'"],
    ['address-role=x', "invalid input: unknown address role [valid roles: sender, receiver, freeze-target]: 'x'"],
    ['address-role=sender', `invalid input: ${zero} asset sender role is not supported`],
    [
      'address-role=receiver',
      `invalid input: ${zero} close address role is not supported, ${zero} asset close address role is not supported`,
    ],
    ['address=x', 'invalid input: unable to parse address: illegal base32 data at input byte 0'],
    ['round=1&min-round=1', 'invalid input: cannot specify round and min-round/max-round'],
    ['min-round=2&max-round=1', 'invalid input: min-round must be less than max-round'],
    ['currency-greater-than=9223372036854775808', `invalid input: ${tooLarge}`],
    ['asset-id=9223372036854775808', tooLarge, 404],
    [
      'asset-id=1&application-id=2',
      'error while searching for transaction: txn query err cannot search both assetid and appid',
      500,
    ],
    [
      'next=x',
      'error while searching for transaction: DecodeTxnRowNext() decode err: illegal base64 data at input byte 0',
      500,
    ],
  ]
  for (const [query, message, status = 400] of cases) {
    assert.equal(errorMessageOf(await node.ask(`/v2/transactions?${query}`), status), message, query)
  }
  const account = await node.ask('/v2/accounts/x/transactions')
  assert.equal(errorMessageOf(account), 'unable to parse address: illegal base32 data at input byte 0')
  assert.match(
    errorMessageOf(await node.ask('/v2/transactions?before-time=x')),
    /^Invalid format for parameter before-time/,
  )
})

test('an amount above 2^53 is exact', async () => {
  const { node } = await indexedHistory()
  const total = 2n ** 64n - 1n
  await createAsset(node, alice, { t: total })
  assert.match((await node.ask('/v2/transactions?tx-type=acfg')).text, new RegExp(`"total":${total}`))
})
