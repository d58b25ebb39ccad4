import assert from 'node:assert/strict'
import test from 'node:test'
import { gunzipSync } from 'node:zlib'
import {
  checkPaywall,
  isPaywallBuilt,
  type PaywallErrorCode,
  type PaywallOffer,
  type PaywallOptions,
  type PaywallPage,
  paywallFile,
  paywallPage,
} from './paywall.js'
import { formatPrice } from './paywallHtml.js'
import { walletOptions } from './paywallOptions.js'

const payTo = 'A'.repeat(58)
const offer: PaywallOffer = {
  network: { caip2: 'algorand:x', name: 'Algorand TestNet', isReal: false },
  dollars: '0.01',
  amount: '0.01',
  unit: 'USDC',
  decimals: 6,
  asset: '10458941',
  payTo,
  isFeePaid: true,
}
const mainnet: PaywallOffer = { ...offer, network: { caip2: 'algorand:y', name: 'Algorand MainNet', isReal: true } }
const local: PaywallOffer = { ...offer, network: { caip2: 'algorand:z', name: 'a local network', isReal: false } }
const page: PaywallPage = { title: 'The weather, now', address: 'shop.example/weather', required: {}, offers: [offer] }
const kmd = { url: 'http://127.0.0.1:4002', token: 'secret-token' }

const walletsFor = (one: PaywallOffer, options: PaywallOptions = {}): string[] =>
  walletOptions(one.network, options).map(({ wallet }) => wallet)

test('shows title, address, price, unit and payee without a script', () => {
  const { html } = paywallPage(page)
  const body = html.replace(/<script[\s\S]*?<\/script>/g, '')
  for (const text of ['The weather, now', 'shop.example/weather', '$0.01', '0.01 USDC on Algorand TestNet']) {
    assert.ok(body.includes(text), text)
  }
  assert.match(body, /Test money/)
  assert.match(body, new RegExp(payTo))
  assert.match(body, /<noscript>/)
})

test('marks real money, and shows a price that is not in dollars in its unit', () => {
  assert.match(paywallPage({ ...page, offers: [mainnet] }).html, /class="money real"[^>]*>Real money/)
  assert.equal(formatPrice({ ...offer, dollars: undefined, amount: '2.5', unit: 'ALGO' }), '2.5 ALGO')
})

test('shows radio buttons for several offers, and none for one', () => {
  const { html } = paywallPage({ ...page, offers: [offer, { ...offer, dollars: undefined, unit: 'ALGO' }] })
  assert.equal(html.match(/type="radio"/g)?.length, 2)
  assert.ok(!paywallPage(page).html.includes('type="radio"'))
})

const hostile = [
  '</script><script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onload='alert(1)",
  '<!--<script>',
  "$& $` $' $1",
  'a\u2028b\u202egnp.exe',
  ']]></title><svg onload=alert(1)>',
]

for (const text of hostile) {
  test(`escapes ${JSON.stringify(text)} everywhere in the page`, () => {
    const required = { resource: { description: text, url: `https://shop.example/${text}` } }
    const named = { ...offer, unit: text }
    const { html } = paywallPage(
      { title: text, address: text, required, offers: [named, named] },
      { name: text, footer: text, kmd: { ...kmd, token: text } },
    )
    const tags = html.match(/<[a-z!/][^>]*>/gi)!.join('\n')
    assert.ok(!/<svg|<img|onerror|onload|<!--/i.test(tags), tags)
    assert.equal(html.match(/<script/g)?.length, 2)
    assert.equal(html.match(/<\/script/g)?.length, 2)
    assert.ok(!/[\u2028\u202e]/.test(html))
    const [, json] = /<script type="application\/json" id="x402">(.*?)<\/script>/s.exec(html)!
    assert.equal(JSON.parse(json!).required.resource.description, text)
  })
}

test('the policy allows its own script, no framing, and only the connections that the wallets need', () => {
  const { policy } = paywallPage({ ...page, offers: [local] }, { wallets: ['lute'], kmd })
  assert.match(policy, /default-src 'none'; script-src 'self';/)
  assert.match(policy, /connect-src 'self' http:\/\/127\.0\.0\.1:4002;/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.ok(!/unsafe-eval|frame-src|wss:|script-src[^;]*unsafe-inline/.test(policy), policy)
  assert.match(
    paywallPage(page).policy,
    /connect-src 'self' https: wss: data:;.*frame-src https:\/\/web\.perawallet\.app/,
  )
  const logo = 'https://cdn.example/logo.svg'
  assert.match(paywallPage(page, { logo }).policy, /img-src 'self' data: blob: https:\/\/cdn\.example;/)
})

test('offers the configured wallets that support the network, in the configured order', () => {
  assert.deepEqual(walletsFor(mainnet), ['pera', 'defly', 'lute', 'exodus', 'kibisis'])
  assert.deepEqual(walletsFor(offer), ['pera', 'defly', 'lute', 'kibisis'])
  assert.deepEqual(walletsFor(local), ['lute'])
  assert.deepEqual(walletsFor(mainnet, { wallets: ['kibisis', 'pera'] }), ['kibisis', 'pera'])
  assert.deepEqual(walletsFor(mainnet, { wallets: [] }), [])
})

test('offers a configured key daemon first, and never on MainNet', () => {
  assert.deepEqual(walletsFor(local, { kmd }), ['kmd', 'lute'])
  assert.ok(!walletsFor(mainnet, { kmd }).includes('kmd'))
  const real = paywallPage({ ...page, offers: [mainnet] }, { kmd })
  assert.ok(!real.html.includes(kmd.token))
  assert.ok(!real.policy.includes('4002'))
  assert.ok(paywallPage(page, { kmd }).html.includes(kmd.token))
})

test('wears the seller’s name, logo, colours and footer', () => {
  const { html } = paywallPage(page, {
    name: 'Weather Inc',
    logo: 'data:image/svg+xml,%3Csvg%3E',
    colour: '#0a7',
    style: { '--radius': '0' },
    footer: { text: 'Terms', url: 'https://shop.example/terms' },
  })
  assert.match(html, /Weather Inc/)
  assert.match(html, /<img src="data:image\/svg\+xml,%3Csvg%3E"/)
  assert.match(html, /<style>:root\{--accent:#0a7;--on-accent:#fff;--radius:0\}<\/style>/)
  assert.match(html, /<a href="https:\/\/shop\.example\/terms" rel="noreferrer">Terms<\/a>/)
})

const invalid: { [what: string]: [PaywallErrorCode, PaywallOptions] } = {
  'a logo with a javascript: URL': ['invalid_paywall_logo', { logo: 'javascript:alert(1)' }],
  'a logo with an http: URL': ['invalid_paywall_logo', { logo: 'http://cdn.example/a.png' }],
  'a colour that ends the CSS rule': ['invalid_paywall_style', { colour: 'red}body{display:none' }],
  'a colour with url()': ['invalid_paywall_style', { colour: 'url(//evil.example)' }],
  'an invalid property name': ['invalid_paywall_style', { style: { '--x;color': 'red' } }],
  'a footer with a javascript: URL': ['invalid_paywall_footer', { footer: { text: 'x', url: 'javascript:alert(1)' } }],
  'an unknown wallet': ['unknown_paywall_wallet', { wallets: ['metamask' as never] }],
  'a daemon without a URL scheme': ['invalid_paywall_kmd', { kmd: { url: '127.0.0.1:4002', token: '' } }],
}

for (const [what, [code, options]] of Object.entries(invalid)) {
  test(`rejects ${what}`, () => {
    assert.throws(() => checkPaywall(options), { name: 'PaywallError', code })
  })
}

test('serves the files that the page refers to, also compressed, and no others', () => {
  const { html } = paywallPage(page)
  const names = [...html.matchAll(/\?x402-page=([^"]+)"/g)].map(([, name]) => name!)
  assert.equal(names.length, 2)
  assert.ok(isPaywallBuilt())
  for (const name of names) {
    const file = paywallFile(name)!
    assert.ok(file.isImmutable)
    assert.deepEqual(gunzipSync(file.gzip()), file.body)
  }
  for (const name of ['', '.', '../console/index.html', 'assets', 'params', 'constructor', '__proto__']) {
    assert.equal(paywallFile(name), undefined, name)
  }
})

test('the script contains no eval and no Function constructor', () => {
  const [, name] = /src="\?x402-page=([^"]+)"/.exec(paywallPage(page).html)!
  const script = Buffer.from(paywallFile(name!)!.body).toString()
  assert.ok(!/[^.\w]eval\(|new Function\(/.test(script))
})
