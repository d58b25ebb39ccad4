import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import algosdk from 'algosdk'
import {
  bin,
  decoded,
  errorMessageOf,
  expectText,
  type Person,
  personOf,
  sign,
  TestNode,
} from '../testing/TestNode.test.helper.js'

const creator = personOf(11)
const other = personOf(12)
const signer = personOf(13)
const unknown = personOf(99)
const vote = new Uint8Array(32).fill(1)
const selection = new Uint8Array(32).fill(2)
const stateProof = new Uint8Array(64).fill(3)
const metadata = new Uint8Array(32).fill(7)

/** A rekeyed online account with two of its own assets and two of others. */
let node: TestNode
before(async () => {
  node = new TestNode({ nowMs: () => 1_700_000_000_000 })
  const send = (person: Person, type: string, fields: object) => node.send(sign(node.txn(type, person, fields), person))
  for (const to of [creator, other, signer])
    await node.send(sign(node.pay(node.funded(0), to, 100_000_000n), node.funded(0)))
  const { publicKey } = creator
  await send(creator, 'acfg', {
    apar: {
      t: 1_000_000n,
      dc: 2,
      un: 'TST',
      an: 'Test Token',
      au: 'https://example.com',
      am: metadata,
      m: publicKey,
      r: publicKey,
      f: publicKey,
    },
  })
  await send(creator, 'acfg', { apar: { t: 5n } })
  await send(other, 'acfg', { apar: { un: 'Z' } })
  await send(other, 'acfg', {
    apar: { t: 2n ** 64n - 1n, df: true, un: 'DF', an: 'é\u0000x', m: other.publicKey, f: other.publicKey },
  })
  for (const xaid of [1006n, 1007n]) await send(creator, 'axfer', { xaid, arcv: publicKey })
  await send(creator, 'keyreg', {
    votekey: vote,
    selkey: selection,
    sprfkey: stateProof,
    votefst: 9n,
    votelst: 3029n,
    votekd: 55n,
  })
  await send(creator, 'pay', { rcv: publicKey, rekey: signer.publicKey })
})

const full = () =>
  `{"creator":"${creator.address}","decimals":2,"default-frozen":false,"freeze":"${creator.address}","manager":"${creator.address}",` +
  '"metadata-hash":"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=","name":"Test Token","name-b64":"VGVzdCBUb2tlbg==",' +
  `"reserve":"${creator.address}","total":1000000,"unit-name":"TST","unit-name-b64":"VFNU","url":"https://example.com","url-b64":"aHR0cHM6Ly9leGFtcGxlLmNvbQ=="}`
const minimal = () => `{"creator":"${creator.address}","decimals":0,"default-frozen":false,"total":5}`
const zero = () =>
  `{"creator":"${other.address}","decimals":0,"default-frozen":false,"total":0,"unit-name":"Z","unit-name-b64":"Wg=="}`
/** Its name contains a zero byte, so only its base64 is present. */
const unprintable = () =>
  `{"creator":"${other.address}","decimals":0,"default-frozen":true,"freeze":"${other.address}","manager":"${other.address}","name-b64":"w6kAeA==","total":18446744073709551615,"unit-name":"DF","unit-name-b64":"REY="}`

const participation =
  '"participation":{"selection-participation-key":"AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",' +
  '"state-proof-key":"AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw==",' +
  '"vote-first-valid":9,"vote-key-dilution":55,"vote-last-valid":3029,"vote-participation-key":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="}'
const totals = (assets: number, created: number) =>
  `"total-apps-opted-in":0,"total-assets-opted-in":${assets},"total-created-apps":0,"total-created-assets":${created}}\n`
const rewards = '"pending-rewards":0,"reward-base":0,"rewards":0'
const holdings =
  '{"amount":1000000,"asset-id":1004,"is-frozen":false},{"amount":5,"asset-id":1005,"is-frozen":false},' +
  '{"amount":0,"asset-id":1006,"is-frozen":false},{"amount":0,"asset-id":1007,"is-frozen":true}'

function richText({ assets, created }: { assets?: string; created?: string }): string {
  const listed = assets === undefined ? '' : `"assets":[${assets}],`
  const apps = assets === undefined ? '' : '"apps-local-state":[],'
  const made = created === undefined ? '' : `"created-apps":[],"created-assets":[${created}],`
  return (
    `{"address":"${creator.address}","amount":99994000,"amount-without-pending-rewards":99994000,${apps}` +
    `"apps-total-schema":{"num-byte-slice":0,"num-uint":0},${listed}"auth-addr":"${signer.address}",${made}` +
    `"last-heartbeat":330,"min-balance":500000,${participation},${rewards},"round":11,"status":"Online",${totals(4, 2)}`
  )
}

test('an account in JSON', async (t) => {
  await t.test('an unknown account is 200 with zeroes', async () => {
    assert.equal(
      expectText(await node.get(`/v2/accounts/${unknown.address}`)),
      `{"address":"${unknown.address}","amount":0,"amount-without-pending-rewards":0,"apps-local-state":[],` +
        '"apps-total-schema":{"num-byte-slice":0,"num-uint":0},"assets":[],"created-apps":[],"created-assets":[],' +
        `"min-balance":100000,${rewards},"round":11,"status":"Offline",${totals(0, 0)}`,
    )
    assert.equal(
      expectText(await node.get(`/v2/accounts/${unknown.address}?exclude=all`)),
      `{"address":"${unknown.address}","amount":0,"amount-without-pending-rewards":0,` +
        `"apps-total-schema":{"num-byte-slice":0,"num-uint":0},"min-balance":100000,${rewards},"round":11,"status":"Offline",${totals(0, 0)}`,
    )
  })

  await t.test('contains every member', async () => {
    const expected = richText({
      assets: holdings,
      created: `{"index":1004,"params":${full()}},{"index":1005,"params":${minimal()}}`,
    })
    for (const query of ['', '?exclude=none', '?exclude=', '?exclude=created-apps-params', '?format=JSON']) {
      assert.equal(expectText(await node.get(`/v2/accounts/${creator.address}${query}`)), expected)
    }
  })

  await t.test('omits excluded members', async () => {
    const get = async (exclude: string) =>
      expectText(await node.get(`/v2/accounts/${creator.address}?exclude=${exclude}`))
    assert.equal(await get('all'), richText({}))
    const indexes = richText({ assets: holdings, created: '{"index":1004},{"index":1005}' })
    for (const exclude of ['created-assets-params', 'created-apps-params,created-assets-params']) {
      assert.equal(await get(exclude), indexes)
    }
  })

  await t.test('shows eligibility for incentives', async () => {
    const own = new TestNode()
    const person = own.funded(0)
    const keys = { votekey: vote, selkey: selection, sprfkey: stateProof, votefst: 1n, votelst: 99n, votekd: 9n }
    await own.send(sign(own.txn('keyreg', person, { ...keys, fee: 2_000_000n }), person))
    const { text } = await own.get(`/v2/accounts/${person.address}?exclude=all`)
    assert.match(text, /,"incentive-eligible":true,"last-heartbeat":321,"min-balance":/)
  })

  await t.test('is decoded by algosdk', async () => {
    const { text } = await node.get(`/v2/accounts/${creator.address}`)
    const account = algosdk.decodeJSON(text, algosdk.modelsv2.Account)
    assert.equal(account.authAddr?.toString(), signer.address)
    assert.deepEqual(account.assets?.map(({ assetId, isFrozen }) => [assetId, isFrozen]).at(-1), [1007n, true])
    assert.deepEqual(account.createdAssets?.[0]?.params?.metadataHash, metadata)
  })

  await t.test('rejects unknown and conflicting exclude values', async () => {
    for (const exclude of [
      'foo',
      'ALL',
      'all,none',
      'none,all',
      'all,created-assets-params',
      'created-assets-params,foo',
      ',',
    ]) {
      const response = await node.get(`/v2/accounts/${creator.address}?exclude=${exclude}`)
      assert.equal(expectText(response, 400), '{"message":"failed to parse exclude"}\n', exclude)
    }
    // The format is checked first.
    const response = await node.get(`/v2/accounts/${creator.address}?exclude=foo&format=xml`)
    assert.equal(errorMessageOf(response), 'failed to parse the format option')
  })
})

test('an account in msgpack', async (t) => {
  const get = async (address: string, query = '') => {
    const response = await node.get(`/v2/accounts/${address}?format=msgpack${query}`)
    expectText(response, 200, 'application/msgpack')
    return decoded(response.bytes)
  }

  await t.test('is the stored record, without zeroes', async () => {
    const expected = {
      algo: 99_994_000n,
      apar: new Map<bigint, object>([
        [
          1004n,
          {
            am: bin(metadata),
            an: 'Test Token',
            au: 'https://example.com',
            dc: 2n,
            f: bin(creator.publicKey),
            m: bin(creator.publicKey),
            r: bin(creator.publicKey),
            t: 1_000_000n,
            un: 'TST',
          },
        ],
        [1005n, { t: 5n }],
      ]),
      asset: new Map<bigint, object>([
        [1004n, { a: 1_000_000n }],
        [1005n, { a: 5n }],
        [1006n, {}],
        [1007n, { f: true }],
      ]),
      lhb: 330n,
      onl: 1n,
      sel: bin(selection),
      spend: bin(signer.publicKey),
      stprf: bin(stateProof),
      vote: bin(vote),
      voteFst: 9n,
      voteKD: 55n,
      voteLst: 3029n,
    }
    const account = await get(creator.address)
    assert.deepEqual(account, expected)
    assert.deepEqual(Object.keys(account), Object.keys(expected))
    assert.deepEqual(await get(creator.address, '&exclude=created-assets-params'), expected)
  })

  await t.test('keeps the bytes of an unprintable name', async () => {
    const { apar } = await get(other.address)
    assert.deepEqual(apar.get(1007n), {
      an: 'é\u0000x',
      df: true,
      f: bin(other.publicKey),
      m: bin(other.publicKey),
      t: 2n ** 64n - 1n,
      un: 'DF',
    })
  })

  await t.test('has other names and zeroes if resources are excluded', async () => {
    const short = (one: object) => ({
      AuthAddr: bin(new Uint8Array(32)),
      IncentiveEligible: false,
      LastHeartbeat: 0n,
      LastProposed: 0n,
      MicroAlgos: 0n,
      RewardedMicroAlgos: 0n,
      RewardsBase: 0n,
      SelectionID: bin(new Uint8Array(32)),
      StateProofID: bin(new Uint8Array(64)),
      Status: 0n,
      TotalAppLocalStates: 0n,
      TotalAppParams: 0n,
      TotalAppSchema: {},
      TotalAssetParams: 0n,
      TotalAssets: 0n,
      TotalBoxBytes: 0n,
      TotalBoxes: 0n,
      TotalExtraAppPages: 0n,
      VoteFirstValid: 0n,
      VoteID: bin(new Uint8Array(32)),
      VoteKeyDilution: 0n,
      VoteLastValid: 0n,
      ...one,
    })
    const account = await get(creator.address, '&exclude=all')
    assert.deepEqual(
      account,
      short({
        AuthAddr: bin(signer.publicKey),
        LastHeartbeat: 330n,
        MicroAlgos: 99_994_000n,
        SelectionID: bin(selection),
        StateProofID: bin(stateProof),
        Status: 1n,
        TotalAssetParams: 2n,
        TotalAssets: 4n,
        VoteFirstValid: 9n,
        VoteID: bin(vote),
        VoteKeyDilution: 55n,
        VoteLastValid: 3029n,
      }),
    )
    assert.deepEqual(Object.keys(account), Object.keys(short({})))
    assert.deepEqual(await get(unknown.address, '&exclude=all'), short({}))
  })

  await t.test('is empty for an unknown account, and has the status of a nonparticipating one', async () => {
    assert.deepEqual(await get(unknown.address), {})
    const rewardsPool = '7777777777777777777777777777777777777777777777777774MSJUVU'
    assert.deepEqual(await get(rewardsPool), { algo: 100_000n, onl: 2n })
    assert.equal((await node.get(`/v2/accounts/${rewardsPool}`)).json.status, 'Not Participating')
  })
})

test('an invalid address', async (t) => {
  await t.test("is rejected with a node's message, quoted after percent-decoding", async () => {
    const wrong = creator.address.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))
    const respelled = creator.address.replace(/.$/, (last) => 'BFJNRVZ5'['AEIMQUY4'.indexOf(last)]!)
    for (const [address, reason] of [
      ['ABC', /: address ABC is malformed, checksum verification failed$/],
      ['%41BC', /: address ABC is malformed, checksum verification failed$/],
      ['%C3%A9', /: failed to decode address \u00e9 from base 32$/],
      [wrong, new RegExp(`: address ${wrong} is malformed, checksum verification failed$`)],
      [respelled, new RegExp(`: address ${respelled} is non-canonical$`)],
    ] as const) {
      const shown = decodeURIComponent(address)
      const stem = `Invalid format for parameter address: error unmarshaling '${shown}' text as *basics.Address: `
      for (const path of ['', '/assets', '/assets/1', '/transactions/pending', '?format=xml', '?exclude=foo']) {
        const message = errorMessageOf(await node.get(`/v2/accounts/${address}${path}`))
        assert.equal(message.slice(0, stem.length), stem)
        assert.match(message, reason)
      }
    }
  })
})

test('an asset of an account', async (t) => {
  const path = (address: string, id: number | string) => `/v2/accounts/${address}/assets/${id}`

  await t.test('in JSON has the holding, the parameters for its creator, and the round', async () => {
    assert.equal(
      expectText(await node.get(path(creator.address, 1004))),
      `{"asset-holding":{"amount":1000000,"asset-id":1004,"is-frozen":false},"created-asset":${full()},"round":11}\n`,
    )
    assert.equal(
      expectText(await node.get(path(creator.address, 1007))),
      '{"asset-holding":{"amount":0,"asset-id":1007,"is-frozen":true},"round":11}\n',
    )
  })

  await t.test('in msgpack omits zeroes, including an empty holding', async () => {
    const get = async (address: string, id: number) => {
      const response = await node.get(`${path(address, id)}?format=msgpack`)
      expectText(response, 200, 'application/msgpack')
      return decoded(response.bytes)
    }
    assert.deepEqual(await get(creator.address, 1005), { 'asset-holding': { a: 5n }, 'asset-params': { t: 5n } })
    assert.deepEqual(await get(creator.address, 1007), { 'asset-holding': { f: true } })
    assert.deepEqual(await get(creator.address, 1006), {})
    assert.deepEqual(await get(other.address, 1006), { 'asset-params': { un: 'Z' } })
  })

  await t.test('is 404 in JSON if the account neither holds nor created it', async () => {
    for (const [address, id] of [
      [other.address, 1004],
      [creator.address, 9999],
      [creator.address, 1003],
      [unknown.address, 1004],
    ] as const) {
      for (const query of ['', '?format=msgpack']) {
        const response = await node.get(path(address, id) + query)
        assert.equal(expectText(response, 404), '{"message":"account asset info not found"}\n')
      }
    }
    assert.equal(
      errorMessageOf(await node.get(`${path(creator.address, 1)}?format=xml`)),
      'failed to parse the format option',
    )
  })
})

test('the assets of an account in pages', async (t) => {
  const path = () => `/v2/accounts/${creator.address}/assets`
  const item = (amount: number, id: number, isFrozen: boolean, params: string) =>
    `{"asset-holding":{"amount":${amount},"asset-id":${id},"is-frozen":${isFrozen}},"asset-params":${params}}`
  const items = () => [
    item(1_000_000, 1004, false, full()),
    item(5, 1005, false, minimal()),
    item(0, 1006, false, zero()),
    item(0, 1007, true, unprintable()),
  ]

  await t.test('are sorted by id, with a token while there are more', async () => {
    const [a, b, c, d] = items()
    for (const query of ['', '?limit=4', '?limit=1000', '?format=msgpack', '?next=0', '?next=1003']) {
      assert.equal(expectText(await node.get(path() + query)), `{"asset-holdings":[${a},${b},${c},${d}],"round":11}\n`)
    }
    assert.equal(
      expectText(await node.get(`${path()}?limit=2`)),
      `{"asset-holdings":[${a},${b}],"next-token":"1005","round":11}\n`,
    )
    assert.equal(
      expectText(await node.get(`${path()}?limit=2&next=1005`)),
      `{"asset-holdings":[${c},${d}],"round":11}\n`,
    )
    for (const target of [`${path()}?next=99999`, `/v2/accounts/${unknown.address}/assets`]) {
      assert.equal(expectText(await node.get(target)), '{"asset-holdings":[],"round":11}\n')
    }
  })

  await t.test('reject an invalid limit or token', async () => {
    const parsing = (text: string, reason: string) => `strconv.ParseUint: parsing "${text}": ${reason}`
    const binding = 'Invalid format for parameter limit: error binding string parameter: '
    for (const [query, message] of [
      ['limit=0', 'limit parameter must be a positive integer'],
      ['limit=1001', 'limit 1001 exceeds max assets single batch limit 1000'],
      ['limit=10000000', 'limit 10000000 exceeds max assets single batch limit 1000'],
      ['limit=-1', binding + parsing('-1', 'invalid syntax')],
      ['limit=abc', binding + parsing('abc', 'invalid syntax')],
      ['limit=', binding + parsing('', 'invalid syntax')],
      ['next=abc', `unable to parse next token: ${parsing('abc', 'invalid syntax')}`],
      ['next=-1', `unable to parse next token: ${parsing('-1', 'invalid syntax')}`],
      ['next=', `unable to parse next token: ${parsing('', 'invalid syntax')}`],
      [
        'next=18446744073709551616',
        `unable to parse next token: ${parsing('18446744073709551616', 'value out of range')}`,
      ],
      ['limit=0&next=abc', `unable to parse next token: ${parsing('abc', 'invalid syntax')}`],
      ['limit=2&limit=3', "Invalid format for parameter limit: multiple values for single value parameter 'limit'"],
    ] as const) {
      assert.equal(errorMessageOf(await node.get(`${path()}?${query}`)), message, query)
    }
  })
})

test('an asset', async (t) => {
  await t.test('is JSON in every format', async () => {
    for (const [id, params] of [
      [1004, full()],
      [1005, minimal()],
      [1006, zero()],
      [1007, unprintable()],
    ] as const) {
      for (const query of ['', '?format=msgpack', '?format=xml']) {
        assert.equal(expectText(await node.get(`/v2/assets/${id}${query}`)), `{"index":${id},"params":${params}}\n`)
      }
    }
  })

  await t.test('is 404 if it does not exist', async () => {
    for (const id of [0, 1003, 9999, '9223372036854775808', '18446744073709551615']) {
      assert.equal(expectText(await node.get(`/v2/assets/${id}`), 404), '{"message":"asset does not exist"}\n')
    }
  })

  await t.test('escapes texts that are not UTF-8 or could end a script element', async () => {
    const own = new TestNode()
    const person = own.funded(0)
    const name = new Uint8Array([...Buffer.from('<&>\b\f\u2028\x7f\x1f'), 0xff, 0x41])
    const apar = { t: 1n, an: name, un: 'é"\\', au: '</script>' }
    const txId = await own.send(sign(own.txn('acfg', person, { apar }), person))
    assert.equal(
      expectText(await own.get('/v2/assets/1001')),
      `{"index":1001,"params":{"creator":"${person.address}","decimals":0,"default-frozen":false,"name-b64":"PCY+CAzigKh/H/9B",` +
        '"total":1,"unit-name":"é\\"\\\\","unit-name-b64":"w6kiXA==","url":"\\u003c/script\\u003e","url-b64":"PC9zY3JpcHQ+"}}\n',
    )
    // Nodes write transactions with another encoder, which escapes differently.
    const { text } = await own.get(`/v2/transactions/pending/${txId}`)
    assert.ok(text.includes('        "an": "<&>\\b\\f\\u2028\x7f\\u001f\\ufffdA",\n        "au": "</script>",\n'), text)
  })
})
