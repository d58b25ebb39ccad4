import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Address, Transaction } from '@latchkey/algorand'
import { Devnet } from '@latchkey/devnet'
import { Signer } from '@latchkey/x402/facilitator'
import { createExplorer } from './Explorer.js'

async function setUp(t: TestContext) {
  const devnet = await Devnet.start({ port: 0, indexer: { port: 0 } })
  t.after(() => devnet.stop())
  const explorer = createExplorer({
    indexer: async (path) => devnet.fetchIndexer!(new Request(`http://127.0.0.1${path}`)),
    dollarAssetIds: devnet.dollarIds,
    names: new Map([[devnet.accounts[0]!.address, 'account-1']]),
  })
  const get = async (path: string): Promise<{ status: number; text: string; headers: Headers }> => {
    const response = await explorer(new Request(`http://127.0.0.1${path}`))
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
  return { devnet, get }
}

async function pay(devnet: Devnet, note: string): Promise<string> {
  const [from, to] = devnet.accounts
  const bytes = Transaction.encode({
    type: 'axfer',
    snd: Address.decode(from!.address),
    arcv: Address.decode(to!.address),
    xaid: devnet.dollarIds[0]!,
    aamt: 1_234_500_000n,
    fee: 1_000n,
    fv: devnet.round,
    lv: devnet.round + 100n,
    gh: new Uint8Array(Buffer.from(devnet.genesisHash, 'base64')),
    note: new TextEncoder().encode(note),
  })
  const signed = await Signer.fromMnemonic(from!.mnemonic).sign(bytes)
  const sent = await fetch(`${devnet.url}/v2/transactions`, { method: 'POST', body: new Uint8Array(signed) })
  assert.equal(sent.status, 200, await sent.text())
  return Transaction.id(bytes)
}

test('shows a payment in its block, in the list, on its own page and at both accounts', {
  timeout: 60_000,
}, async (t) => {
  const { devnet, get } = await setUp(t)
  const id = await pay(devnet, '<script>alert(1)</script>')
  const { round } = devnet
  const [from, to] = devnet.accounts.map(({ address }) => address)
  for (const path of ['/transactions', `/block/${round}`, `/account/${from}`, `/account/${to}`, `/transaction/${id}`]) {
    const { status, text } = await get(path)
    assert.equal(status, 200, path)
    assert.ok(text.includes('$1,234.50'), path)
    assert.ok(text.includes('account-1'), path)
    assert.doesNotMatch(text, /<script/i)
  }
  const blocks = await get('/')
  assert.ok(blocks.text.includes(`/block/${round}`))
  assert.match(blocks.headers.get('content-security-policy')!, /default-src 'none'/)
  for (const path of ['/accounts', '/assets', '/applications', `/asset/${devnet.dollarIds[0]}`]) {
    assert.equal((await get(path)).status, 200, path)
  }
})

test('leads a search to its page, and knows no other paths', { timeout: 60_000 }, async (t) => {
  const { devnet, get } = await setUp(t)
  const { address } = devnet.accounts[0]!
  const leads: [string, string][] = [
    [address, `/account/${address}`],
    ['7', '/block/7'],
    ['A'.repeat(52), `/transaction/${'A'.repeat(52)}`],
    ['//evil.example', '/'],
  ]
  for (const [query, to] of leads) {
    const { status, headers } = await get(`/search?q=${encodeURIComponent(query)}`)
    assert.deepEqual([status, headers.get('location')], [303, to])
  }
  for (const path of ['/block/999999', '/account/x', '/constructor', `/transaction/${'A'.repeat(52)}`, '/block/1/2']) {
    assert.equal((await get(path)).status, 404, path)
  }
})
