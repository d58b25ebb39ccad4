import assert from 'node:assert/strict'
import test from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import {
  checkPaywall,
  isPaywallBuilt,
  type PaywallErrorCode,
  type PaywallOffer,
  type PaywallOptions,
  type PaywallPage,
  paywallFile,
  paywallPage,
  paywallWallets,
} from './paywall.js'
import { commandFor } from './paywallHelp.js'
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
const page: PaywallPage = {
  title: 'The weather, now',
  address: 'shop.example/weather',
  url: 'https://shop.example/weather',
  required: {},
  offers: [offer],
}
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
      { title: text, address: text, url: `https://shop.example/${text}`, required, offers: [named, named] },
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

test('shows the seller’s name, logo, colours and footer', () => {
  const { html } = paywallPage(page, {
    name: 'Weather Inc',
    logo: 'data:image/svg+xml,%3Csvg%3E',
    colour: '#0a7',
    style: { '--radius': '0' },
    footer: { text: 'Terms', url: 'https://shop.example/terms' },
  })
  assert.match(html, /Weather Inc/)
  assert.match(html, /<img src="data:image\/svg\+xml,%3Csvg%3E"/)
  assert.match(html, /<style>:root\{--accent:#0a7;--on-accent:#fff;--radius:0\}/)
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
  assert.equal(names.length, 3)
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

/** Returns the names of the files with the wallets' code from the page's script data. */
function walletFiles(html: string): string[] {
  const [, json] = /<script type="application\/json" id="x402">(.*?)<\/script>/s.exec(html)!
  const { offers } = JSON.parse(json!) as { offers: { wallets: { file: string }[] }[] }
  return offers.flatMap(({ wallets }) => wallets.map(({ file }) => file))
}

const scriptsOf = (html: string): string[] => [/src="\?x402-page=([^"]+)"/.exec(html)![1]!, ...walletFiles(html)]
const textOf = (name: string): string => Buffer.from(paywallFile(name)!.body).toString()

test('the page, its style sheet and its script are less than 30.5 kB compressed', () => {
  const { html } = paywallPage({ ...page, offers: [mainnet] }, { kmd })
  const names = [...html.matchAll(/\?x402-page=([^"]+)"/g)].map(([, name]) => name!)
  const sizes = names.map((name) => paywallFile(name)!.gzip().length)
  const bytes = sizes.reduce((sum, size) => sum + size, gzipSync(html).length)
  assert.ok(bytes < 30_500, `${bytes} bytes`)
})

test('the file of the key daemon is less than 27 kB compressed, without hints that no page shows', () => {
  const { html } = paywallPage({ ...page, offers: [local] }, { kmd })
  const name = walletFiles(html).find((file) => file.startsWith('wallet-kmd-'))!
  const bytes = paywallFile(name)!.gzip().length
  assert.ok(bytes < 27_000, `${bytes} bytes`)
  for (const text of ['invalid API token', 'no such path']) assert.ok(textOf(name).includes(text), text)
  assert.ok(!textOf(name).includes('send the first line of kmd.token'))
})

test('the first paint waits only for the page, which stays small', () => {
  const { html } = paywallPage({ ...page, offers: [mainnet] }, { kmd })
  const [head, body] = html.split('<body>') as [string, string]
  assert.doesNotMatch(head, /<link rel="stylesheet"|<script/)
  assert.ok(head.length < 7_000, `${head.length} characters`)
  assert.match(head, /<style>.*\.card\{.*<\/style>/s)
  assert.match(body, /<\/main>.*<link rel="stylesheet" href="[^"]+">\n<script type="module"/s)
})

test('the image with the logos has a place for each wallet, and no script', () => {
  const [, name] = /url\("\?x402-page=([^"]+)"\)/.exec(paywallPage(page).html)!
  const image = textOf(name!)
  assert.equal(paywallFile(name!)!.type, 'image/svg+xml')
  assert.equal(image.match(/<svg x=/g)?.length, paywallWallets.length + 1)
  assert.doesNotMatch(image, /<script|\son\w+=|href=/)
  const ids = [...image.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)
  assert.equal(new Set(ids).size, ids.length)
  for (const [, id] of image.matchAll(/url\(#([^)]+)\)/g)) assert.ok(ids.includes(id!), id)
  for (const wallet of [...paywallWallets, 'kmd'])
    assert.ok(paywallPage(page).html.includes(`[data-wallet=${wallet}]{background-position`), wallet)
})

test('each wallet has its own file, which refers to no other', () => {
  const files = walletFiles(paywallPage({ ...page, offers: [mainnet, local] }, { kmd }).html)
  assert.equal(new Set(files).size, 6)
  for (const name of files) {
    assert.match(name, /^wallet-[a-z]+-[\w-]+\.js$/)
    assert.ok(paywallFile(name)!.isImmutable)
    assert.ok(paywallFile(name)!.gzip().length < 110_000, name)
    const text = textOf(name)
    assert.ok(!/\bimport\s*["'{*]|\bimport\(\s*["'`.]|\bfrom\s*["']\.\//.test(text.replace(/"[^"\n]*"/g, '""')), name)
    assert.match(text, /export\s*{[^}]*\bas connect\b/, name)
  }
})

test('the scripts contain no eval and no Function constructor', () => {
  for (const name of scriptsOf(paywallPage({ ...page, offers: [mainnet, local] }, { kmd }).html)) {
    assert.ok(!/[^.\w]eval\(|new Function\(/.test(textOf(name)), name)
  }
})

test('the wallet buttons are rendered before the script loads, but disabled', () => {
  const { html } = paywallPage({ ...page, offers: [mainnet] })
  const buttons = html.match(/<button[^>]*class="plain wallet" disabled><span class="logo"[^>]*><\/span>[^<]+/g) ?? []
  assert.deepEqual(
    buttons.map((text) => text.replace(/.*>/, '')),
    ['Pera', 'Defly', 'Lute', 'Exodus', 'Kibisis'],
  )
  assert.match(paywallPage(page, { wallets: [] }).html, /No supported wallet can pay on Algorand TestNet/)
})

test('explains on each network what people without a wallet can do', () => {
  const helpOf = (one: PaywallOffer, options: PaywallOptions = {}): string =>
    /<details.*?<\/details>/s.exec(paywallPage({ ...page, offers: [one] }, options).html)![0]
  const real = helpOf(mainnet)
  assert.match(real, /<a href="https:\/\/perawallet\.app" target="_blank" rel="noopener noreferrer">Pera<\/a>/)
  assert.match(real, /latchkey pay &#34;https:\/\/shop\.example\/weather&#34; --network mainnet/)
  assert.ok(!/free|faucet/.test(real))
  const test = helpOf(offer)
  assert.match(test, /free on TestNet.*faucet\.circle\.com/)
  assert.match(test, /opt in to USDC \(asset 10458941\)/)
  assert.ok(!/Exodus/.test(test), 'it has no TestNet')
  const local_ = helpOf(local, { kmd })
  assert.match(local_, /latchkey dev.*Choose the local key daemon/)
  assert.ok(!/--network|https:\/\/(?!shop)/.test(local_))
  assert.match(helpOf(local), /option <code>kmd<\/code>/)
  const { url: _, ...unknown } = page
  assert.ok(!paywallPage(unknown).html.includes('latchkey pay'))
})

test('a malicious link cannot run anything when its command is pasted into a shell', () => {
  const urls = ['$(id)', '`id`', '"; id; "', "'; id; '", '!!', '%24(id)', 'a&b|c>d', '\\"', '^&id', 'a\nb\tc']
  for (const text of urls) {
    for (const url of [`https://shop.example/${text}`, `https://shop.example/?q=${text}`]) {
      const command = commandFor(url, 'mainnet')!
      assert.match(
        command,
        /^latchkey pay "https:\/\/shop\.example\/[\w%./?=&;(),:#~*+@-]*" --network mainnet$/,
        command,
      )
    }
  }
  assert.equal(commandFor('https://shop.example/a?b=1&c=2', undefined), 'latchkey pay "https://shop.example/a?b=1&c=2"')
  assert.equal(commandFor(`https://shop.example/${'a'.repeat(3_000)}`, undefined), undefined)
})

test('states for how long and how often one payment opens the page', () => {
  const shown = (info: object): string | undefined => {
    const { html } = paywallPage({ ...page, required: { extensions: { 'payment-pass': { info } } } })
    return /<dd data-pass>([^<]*)<\/dd>/.exec(html)?.[1]
  }
  assert.equal(shown({ minutes: 30 }), 'for 30 minutes')
  assert.equal(shown({ minutes: 1 }), 'for 1 minute')
  assert.equal(shown({ minutes: 0.5 }), 'for 30 seconds')
  assert.equal(shown({ minutes: 120 }), 'for 2 hours')
  assert.equal(shown({ minutes: 43_200, requests: 1_000 }), '1,000 times, for 30 days')
  for (const info of [{}, { minutes: 'x' }, { minutes: -1 }, { requests: 5 }]) assert.equal(shown(info), undefined)
  assert.doesNotMatch(paywallPage(page).html, /data-pass/)
})
