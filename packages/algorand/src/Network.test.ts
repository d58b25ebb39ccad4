import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Network from './Network.js'

test('the ids of public networks follow from their genesis hashes', () => {
  for (const network of Network.known) {
    assert.equal(Network.caip2(network.genesisHash), network.caip2)
    assert.equal(Network.caip2(new Uint8Array(Buffer.from(network.genesisHash, 'base64'))), network.caip2)
    assert.equal(network.caip2.length, 'algorand:'.length + 32)
  }
})

test('the full id has the whole hash, and identifies the same network', () => {
  assert.equal(Network.fullCaip2(Network.mainnet.genesisHash), 'algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=')
  for (const { genesisHash, caip2 } of Network.known) {
    const full = Network.fullCaip2(genesisHash)
    assert.equal(full, `algorand:${genesisHash}`)
    assert.equal(Network.fullCaip2(new Uint8Array(Buffer.from(genesisHash, 'base64'))), full)
    assert.equal(Network.parse(full).caip2, caip2)
  }
  assert.throws(() => Network.fullCaip2('algorand'), { code: 'invalid_genesis_hash' })
})

test('reads both forms of an id, and they match', () => {
  for (const network of Network.known) {
    const url = network.genesisHash.replaceAll('+', '-').replaceAll('/', '_')
    const forms = [network.caip2, `algorand:${network.genesisHash}`, `algorand:${url}`, `algorand:${url.slice(0, -1)}`]
    for (const form of forms) {
      assert.deepEqual(Network.parse(form), { caip2: network.caip2, network })
      assert.equal(Network.normalize(form), network.caip2)
      assert.ok(Network.matches(form, network.caip2))
      assert.ok(Network.matches(network.caip2, form))
    }
  }
})

test('a local network has an id and is not a public network', () => {
  const id = Network.caip2(new Uint8Array(32).fill(0xfb))
  assert.equal(id, 'algorand:-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7')
  assert.deepEqual(Network.parse(id), { caip2: id, network: undefined })
})

test('different networks do not match', () => {
  assert.equal(Network.matches(Network.mainnet.caip2, Network.testnet.caip2), false)
  assert.equal(Network.matches(Network.mainnet.caip2, `algorand:${Network.testnet.genesisHash}`), false)
})

test('rejects invalid ids, which match nothing', () => {
  const { caip2, genesisHash } = Network.testnet
  const ids = [
    '',
    'algorand',
    'algorand:',
    'eip155:1',
    caip2.slice(0, -1),
    `${caip2}A`,
    caip2.toUpperCase(),
    `x${caip2}`,
  ]
  // Both alphabets in one hash, and a last character with bits that belong to no byte.
  ids.push(`algorand:${genesisHash.replace('S', '+').replace('G', '_')}`, `algorand:${genesisHash.replace('I=', 'J=')}`)
  for (const id of ids) {
    assert.throws(() => Network.parse(id), Network.NetworkError, id)
    assert.equal(Network.matches(id, id), false)
  }
  assert.throws(() => Network.caip2(new Uint8Array(31)), Network.NetworkError)
  assert.throws(() => Network.caip2('short'), Network.NetworkError)
})

test('resolve reads names and ids', () => {
  for (const network of Network.known) {
    assert.deepEqual(Network.resolve(network.name), { caip2: network.caip2, network })
    assert.deepEqual(Network.resolve(`algorand:${network.genesisHash}`), { caip2: network.caip2, network })
  }
})

test('a misspelt network gets a suggestion', () => {
  const misspelt: [text: string, hint: string][] = [
    ['tesnet', 'did you mean testnet?'],
    ['TestNet', 'did you mean testnet?'],
    ['maninet', 'did you mean mainnet?'],
    ['algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCD', 'did you mean algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe?'],
  ]
  for (const [text, hint] of misspelt) {
    assert.throws(() => Network.resolve(text), { name: 'NetworkError', code: 'unknown_network', hint })
    assert.throws(() => Network.parse(text), { code: 'unknown_network', hint })
  }
  assert.throws(() => Network.resolve('ethereum'), {
    message: '"ethereum" is not an Algorand network',
    hint: /^use mainnet/,
  })
  assert.throws(() => Network.resolve('x'.repeat(100_000)), { code: 'unknown_network' })
})

test('a network has a display name', () => {
  assert.equal(Network.displayName('mainnet'), 'MainNet')
  assert.equal(Network.displayName(Network.testnet.caip2), 'TestNet')
  assert.equal(Network.displayName(Network.fullCaip2(Network.betanet.genesisHash)), 'BetaNet')
  assert.equal(Network.displayName(Network.caip2(new Uint8Array(32))), 'local network')
  assert.equal(Network.displayName('local'), 'local network')
})

test('a message has the name of a network instead of its id, and quotes unknown values', () => {
  assert.equal(Network.describe(Network.fullCaip2(Network.mainnet.genesisHash)), 'MainNet')
  assert.equal(Network.describe('testnet'), 'TestNet')
  assert.equal(Network.describe('local'), 'the local network')
  const id = Network.caip2(new Uint8Array(32).fill(1))
  assert.equal(Network.describe(id), `the local network (${id})`)
  assert.equal(Network.phrase(id), 'the local network')
  assert.equal(Network.phrase('testnet'), 'TestNet')
  assert.equal(Network.describe('eip155:8453'), 'network "eip155:8453"')
  assert.equal(Network.describe('\u001b[2J\u202eMainNet'), 'network "\\u001b[2J?MainNet"')
  assert.ok(Network.describe('x'.repeat(10_000)).length < 120)
})
