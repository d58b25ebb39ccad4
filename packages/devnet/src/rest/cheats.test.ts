import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorMessageOf, expectText, type Person, personOf, sign, TestNode } from '../testing/TestNode.test.helper.js'

const newcomer = personOf(51)
const dollars = [31_566_704, 10_458_941]
const supply = 15_000_000_000n * 1_000_000n + 200_000n

function total({ ledger }: TestNode): bigint {
  return [...ledger.state.allAccounts().values()].reduce((sum, { microAlgos }) => sum + microAlgos, 0n)
}

function balance({ ledger }: TestNode, { key }: Person): bigint {
  return ledger.state.account(key).microAlgos
}

test('GET /devnet returns the accounts, marked development only', async () => {
  const node = new TestNode({ accountCount: 2 })
  const { onlineAccounts, faucet, accounts } = node.genesis
  const { 'genesis-hash': hash } = (await node.get('/v2/transactions/params')).json
  assert.deepEqual((await node.get('/devnet')).json, {
    accounts: [...onlineAccounts, faucet, ...accounts].map(({ address, mnemonic, name, secretKey }) => ({
      address,
      mnemonic,
      name,
      'secret-key': secretKey,
    })),
    'development-only': true,
    dollars,
    'genesis-hash': hash,
    'genesis-id': 'dockernet-v1',
  })
  assert.equal(personOf(Buffer.from(accounts[1]!.secretKey, 'base64').subarray(0, 32)).address, accounts[1]!.address)
})

test('GET /devnet/state returns counts and a hash that changes with the state', async () => {
  const node = new TestNode({ nowMs: () => 1_700_000_000_000 })
  const { 'state-hash': first, ...rest } = (await node.get('/devnet/state')).json
  assert.deepEqual(rest, { accounts: 9, pending: 0, round: 0, timestamp: 0, transactions: 0 })
  const person = node.funded(0)
  await node.send(sign(node.pay(person, newcomer, 200_000n), person))
  const { 'state-hash': second, ...after } = (await node.get('/devnet/state')).json
  assert.deepEqual(after, { accounts: 10, pending: 0, round: 1, timestamp: 1_700_000_000, transactions: 1 })
  assert.notEqual(first, second)
})

test('funding', async (t) => {
  await t.test('moves Algos from the faucet, with a constant supply', async () => {
    const node = new TestNode()
    const before = balance(node, node.faucet)
    for (const [amount, microAlgos] of [
      [{ algos: 1 }, 1_000_000],
      [{ algos: '0.1' }, 100_000],
      [{ algos: 0.000001 }, 1],
      [{ algos: '0.000001' }, 1],
      [{ algos: 1.5, microAlgos: 7 }, 1_500_007],
      [{ microAlgos: '12' }, 12],
      [{ algos: '5.000000' }, 5_000_000],
    ] as const) {
      const had = balance(node, newcomer)
      const response = await node.post('/devnet/fund', { address: newcomer.address, ...amount })
      const expected = had + BigInt(microAlgos)
      assert.equal(
        expectText(response),
        `{"address":"${newcomer.address}","amount":${expected},"assets":[],"round":0}\n`,
        JSON.stringify(amount),
      )
    }
    assert.equal(balance(node, newcomer), before - balance(node, node.faucet))
    assert.equal(total(node), supply)
  })

  await t.test('rejects less than the minimum balance, and changes nothing', async () => {
    const node = new TestNode()
    for (const amount of [{ microAlgos: 99_999 }, { algos: '0.099999' }, {}]) {
      assert.match(
        errorMessageOf(await node.post('/devnet/fund', { address: newcomer.address, ...amount })),
        /^account [A-Z2-7]{58} would have [0-9]+ microAlgos, below its minimum balance of 100000$/,
      )
    }
    assert.equal(node.ledger.state.allAccounts().has(newcomer.key), false)
    assert.equal((await node.post('/devnet/fund', { address: newcomer.address, microAlgos: 100_000 })).status, 200)
  })

  await t.test('moves dollars of both ids, with opt-in and minimum balance', async () => {
    const node = new TestNode()
    const response = await node.post('/devnet/fund', { address: newcomer.address, dollars: '12.5' })
    assert.deepEqual(response.json, {
      address: newcomer.address,
      amount: 300_000,
      assets: [
        { amount: 12_500_000, 'asset-id': 10_458_941 },
        { amount: 12_500_000, 'asset-id': 31_566_704 },
      ],
      round: 0,
    })
    // The minimum balance is added only once.
    const more = await node.post('/devnet/fund', { address: newcomer.address, dollars: 1, algos: 1 })
    assert.deepEqual([more.json.amount, more.json.assets[0].amount], [1_300_000, 13_500_000])
    assert.equal(total(node), supply)
    for (const assetId of dollars.map(BigInt)) {
      const held = [...node.ledger.state.allAccounts().keys()]
        .map((key) => node.ledger.state.holding(key, assetId)?.amount ?? 0n)
        .reduce((sum, amount) => sum + amount, 0n)
      assert.equal(held, node.ledger.state.asset(assetId)!.total)
    }
  })

  await t.test('moves any asset from its creator, in base units', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    await node.send(sign(node.txn('acfg', person, { apar: { t: 2n ** 64n - 1n, df: true } }), person))
    const fund = { address: newcomer.address, assetId: 1001, amount: '18446744073709551615' }
    const response = await node.post('/devnet/fund', fund)
    assert.match(
      expectText(response),
      /"amount":200000,"assets":\[\{"amount":18446744073709551615,"asset-id":1001\}\],"round":1\}/,
    )
    assert.equal(
      (await node.get(`/v2/accounts/${newcomer.address}/assets/1001`)).json['asset-holding']['is-frozen'],
      true,
    )
    assert.equal(errorMessageOf(await node.post('/devnet/fund', { ...fund, amount: 1 })).length > 0, true)
    assert.equal((await node.get(`/v2/accounts/${person.address}/assets/1001`)).json['asset-holding'].amount, 0)
  })

  await t.test('of the faucet itself changes nothing', async () => {
    const node = new TestNode()
    const before = balance(node, node.faucet)
    const funding = { address: node.faucet.address, algos: 5, dollars: 5 }
    assert.equal((await node.post('/devnet/fund', funding)).status, 200)
    assert.equal(balance(node, node.faucet), before)
  })

  await t.test('rejects invalid and too large amounts, and changes nothing', async () => {
    const node = new TestNode()
    const { address } = newcomer
    const amount = (name: string) => `${name} must be an amount such as 1.5`
    const whole = (name: string) => `${name} must be a whole number from 0 to 18446744073709551615`
    const cases: [object | string, string | RegExp][] = [
      [{ algos: 1 }, 'address must be an Algorand address of 58 characters'],
      [{ address: 'ABC', algos: 1 }, 'address must be an Algorand address of 58 characters'],
      [{ address: 7, algos: 1 }, 'address must be an Algorand address of 58 characters'],
      [{ address: `${address}A`, algos: 1 }, 'address must be an Algorand address of 58 characters'],
      [{ address, algos: '0.0000001' }, 'algos must have at most 6 decimals'],
      [{ address, algos: 1e-7 }, amount('algos')],
      [{ address, algos: '-1' }, amount('algos')],
      [{ address, algos: -1 }, amount('algos')],
      [{ address, algos: '1e3' }, amount('algos')],
      [{ address, algos: 1e21 }, amount('algos')],
      [{ address, algos: '1.' }, amount('algos')],
      [{ address, algos: '.5' }, amount('algos')],
      [{ address, algos: '' }, amount('algos')],
      [{ address, algos: ' 1' }, amount('algos')],
      [{ address, algos: true }, amount('algos')],
      [{ address, algos: null }, amount('algos')],
      [{ address, algos: [1] }, amount('algos')],
      [{ address, algos: '9'.repeat(21) }, amount('algos')],
      [{ address, algos: '9'.repeat(20) }, 'algos is too large'],
      [{ address, algos: '18446744073709.551616' }, 'algos is too large'],
      [{ address, dollars: '0.0000001' }, 'dollars must have at most 6 decimals'],
      [{ address, microAlgos: 1.5 }, whole('microAlgos')],
      [{ address, microAlgos: '18446744073709551616' }, whole('microAlgos')],
      [{ address, microAlgos: [5] }, whole('microAlgos')],
      [{ address, microAlgos: {} }, whole('microAlgos')],
      [{ address, microAlgos: null }, whole('microAlgos')],
      [{ address, microAlgos: 1e20 }, whole('microAlgos')],
      [{ address, assetId: 1 }, whole('amount')],
      [{ address, assetId: 'x', amount: 1 }, whole('assetId')],
      [{ address, algos: 1, amount: 1 }, 'amount requires assetId'],
      [{ address, algos: 1, assetId: 77, amount: 1 }, /77/],
      [{ address, algos: '18446744073709.551615' }, /overspend/],
      [{ address, algos: '18446744073709', microAlgos: '18446744073709551615' }, /overspend/],
      [{ address, algos: '9999999999' }, /.+/],
      [{ address, dollars: '18446744073709' }, /.+/],
      [
        { address, algo: 1 },
        'unknown member "algo"; known members: address, algos, microAlgos, dollars, assetId, amount',
      ],
      ['{"__proto__":1}', /^unknown member "__proto__"; /],
      ['[]', 'expected an object'],
      ['null', 'expected an object'],
      ['"x"', 'expected an object'],
      ['{', /./],
      ['{"address":', /./],
      [`${'['.repeat(4_900)}${']'.repeat(4_900)}`, /^(expected an object|nested too deeply)$/],
    ]
    for (const [body, message] of cases) {
      const actual = errorMessageOf(await node.post('/devnet/fund', body))
      if (typeof message === 'string') assert.equal(actual, message, JSON.stringify(body))
      else assert.match(actual, message, JSON.stringify(body))
    }
    const large = JSON.stringify({ address, algos: ' '.repeat(10_000) })
    assert.equal(errorMessageOf(await node.post('/devnet/fund', large), 413), 'the body must have at most 10000 bytes')
    assert.equal(node.ledger.state.allAccounts().has(newcomer.key), false)
    assert.equal(total(node), supply)
    assert.deepEqual(node.errors, [])
  })
})

test('opting in', async (t) => {
  await t.test('creates the holding with its minimum balance, once', async () => {
    const node = new TestNode()
    const body = { address: newcomer.address, assetId: dollars[0] }
    for (let time = 0; time < 2; time++) {
      assert.deepEqual((await node.post('/devnet/opt-in', body)).json, {
        address: newcomer.address,
        amount: 200_000,
        assets: [{ amount: 0, 'asset-id': dollars[0] }],
        round: 0,
      })
    }
  })

  await t.test('rejects unknown assets and missing members', async () => {
    const node = new TestNode()
    const { address } = newcomer
    assert.match(errorMessageOf(await node.post('/devnet/opt-in', { address, assetId: 77 })), /77/)
    assert.match(errorMessageOf(await node.post('/devnet/opt-in', { address })), /^assetId must be a whole number /)
    assert.match(errorMessageOf(await node.post('/devnet/opt-in', { assetId: dollars[0] })), /^address must be /)
    assert.match(
      errorMessageOf(await node.post('/devnet/opt-in', { address, assetId: 1, amount: 1 })),
      /^unknown member "amount"/,
    )
    assert.equal(node.ledger.state.allAccounts().has(newcomer.key), false)
  })
})

test('mining', async (t) => {
  await t.test('makes the given number of blocks, one by default', async () => {
    const node = new TestNode({ nowMs: () => 1_700_000_000_000 })
    assert.equal(expectText(await node.post('/devnet/mine')), '{"round":1,"timestamp":1700000000}\n')
    assert.equal(expectText(await node.post('/devnet/mine', {})), '{"round":2,"timestamp":1700000000}\n')
    assert.equal(expectText(await node.post('/devnet/mine', { rounds: '3' })), '{"round":5,"timestamp":1700000000}\n')
  })

  await t.test('limits the number of blocks', async () => {
    const node = new TestNode()
    for (const rounds of [0, -1, 1.5, 100_001, '1e3', true, null, [2]]) {
      assert.equal(
        errorMessageOf(await node.post('/devnet/mine', { rounds })),
        'rounds must be a whole number from 1 to 100000',
      )
    }
    assert.equal(
      errorMessageOf(await node.post('/devnet/mine', { round: 5 })),
      'unknown member "round"; known members: rounds',
    )
    assert.equal(node.ledger.last.round, 0n)
  })
})

test('time', async (t) => {
  const now = 1_700_000_000
  const start = () => new TestNode({ nowMs: () => now * 1000 })

  await t.test('is that of the next block, and continues from there', async () => {
    const node = start()
    await node.post('/devnet/mine')
    assert.equal(expectText(await node.post('/devnet/time', { advanceSeconds: 3600 })), `{"timestamp":${now + 3600}}\n`)
    assert.equal((await node.post('/devnet/mine', { rounds: 2 })).json.timestamp, now + 3600)
    assert.equal(
      expectText(await node.post('/devnet/time', { timestamp: now + 9000 })),
      `{"timestamp":${now + 9000}}\n`,
    )
    assert.equal((await node.post('/devnet/mine')).json.timestamp, now + 9000)
    // A second advance starts from there.
    assert.equal((await node.post('/devnet/time', { advanceSeconds: 0 })).json.timestamp, now + 9000)
  })

  await t.test('can be set before the first block', async () => {
    const node = start()
    assert.equal((await node.post('/devnet/time', { advanceSeconds: 10 })).json.timestamp, now + 10)
    assert.equal((await node.post('/devnet/mine')).json.timestamp, now + 10)
    const past = start()
    assert.equal((await past.post('/devnet/time', { timestamp: 5 })).status, 200)
    assert.equal((await past.post('/devnet/mine')).json.timestamp, 5)
  })

  await t.test('rejects earlier and too large times', async () => {
    const node = start()
    await node.post('/devnet/mine')
    const message = `the time must be in seconds, and not before that of the last block, ${now}`
    for (const body of [
      { timestamp: now - 1 },
      { timestamp: 0 },
      { timestamp: 2n ** 63n },
      { advanceSeconds: 2n ** 63n - 1n },
      { advanceSeconds: 2n ** 64n - 1n },
    ]) {
      const text = JSON.stringify(body, (_, value) => (typeof value === 'bigint' ? value.toString() : value))
      assert.equal(errorMessageOf(await node.post('/devnet/time', text)), message)
    }
    assert.equal((await node.post('/devnet/time', { timestamp: now })).status, 200)
  })

  await t.test('takes either timestamp or advanceSeconds, in whole seconds', async () => {
    const node = start()
    for (const body of [{}, { timestamp: now, advanceSeconds: 1 }]) {
      assert.equal(errorMessageOf(await node.post('/devnet/time', body)), 'set either timestamp or advanceSeconds')
    }
    for (const body of [{ timestamp: -1 }, { timestamp: 1.5 }, { timestamp: 'soon' }]) {
      assert.match(errorMessageOf(await node.post('/devnet/time', body)), /^timestamp must be a whole number from 0 /)
    }
    assert.match(
      errorMessageOf(await node.post('/devnet/time', { advanceSeconds: -1 })),
      /^advanceSeconds must be a whole number /,
    )
  })
})
