/** Attacks on a seller, by row of the list of published weaknesses: facilitators, prices, hosts, output. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Signer } from '@latchkey/x402/client'
import { Facilitator } from '@latchkey/x402/facilitator'
import { GateError, httpFacilitator, localFacilitator } from '@latchkey/x402/server'
import { altered, headerJson, newAddress, openMarket, requiredOf } from '../support/market.test.helper.js'
import { rawRequest } from '../support/rawRequest.test.helper.js'
import { cents, openServer, openStall, serveFacilitator, show } from '../support/stall.test.helper.js'

const market = await openMarket({ after })
const cent = 10_000n

// Published: one facilitator, chosen at the start. Ours: a failed one is replaced by the next.
test('S11 after a facilitator fails, the next request is settled by another', async (t) => {
  const second = new Facilitator({
    chains: [market.chain],
    feePayer: Signer.fromMnemonic(market.devnet.accounts[3]!.mnemonic),
    pollMs: 20,
  })
  t.after(() => second.stop())
  let isDown = false
  const first = altered(market.local, {
    verify: async (...args) => {
      if (isDown) throw new Error('down')
      return market.local.verify(...args)
    },
  })
  const { url } = await openStall(t, market, {
    routes: cents(market, 'GET /a'),
    facilitators: [first, localFacilitator(second)],
  })
  assert.equal((await market.payingFetch(`${url}/a`)).status, 200)
  isDown = true
  // Only the first can settle a payment whose fee it pays.
  assert.equal((await show(`${url}/a`, await market.payment(await fetch(`${url}/a`)))).status, 503)
  assert.equal((await market.payingFetch(`${url}/a`)).status, 200)
  const { extra } = (await requiredOf(await fetch(`${url}/a`))).accepts[0] as { extra: { feePayer: string } }
  assert.equal(extra.feePayer, market.devnet.accounts[3]!.address)
})

// Published: every facilitator is trusted. Ours: the result of an untrusted one is checked in the ledger.
test('S11 a facilitator that lies, hangs or redirects results in 502 or 503, and nothing is served', async (t) => {
  const real = market.facilitator.supported()
  type Responders = { [path: string]: (send: (status: number, body: string, headers?: object) => void) => void }
  const ok = (send: (status: number, body: string) => void): void => send(200, '{"isValid":true,"payer":"x"}')
  const hostile: { [name: string]: { status: number; responders: Responders } } = {
    'says it is settled': {
      status: 502,
      responders: {
        '/verify': ok,
        '/settle': (send) => send(200, '{"success":true,"transaction":"AAAA","network":"eip155:1"}'),
      },
    },
    'sends garbage': { status: 502, responders: { '/verify': (send) => send(200, '<html>') } },
    'sends an array': { status: 502, responders: { '/verify': (send) => send(200, '[]') } },
    'says neither yes nor no': { status: 502, responders: { '/verify': (send) => send(200, '{"isValid":"true"}') } },
    'sends too much': {
      status: 502,
      responders: { '/verify': (send) => send(200, `{"isValid":true,"x":"${'x'.repeat(300_000)}"}`) },
    },
    redirects: {
      status: 502,
      responders: { '/verify': (send) => send(307, '', { Location: '/elsewhere' }), '/elsewhere': ok },
    },
    fails: { status: 503, responders: { '/verify': (send) => send(500, 'oh') } },
    hangs: { status: 503, responders: { '/verify': () => {} } },
    'hangs when it settles': { status: 503, responders: { '/verify': ok, '/settle': () => {} } },
    'sends garbage when it settles': {
      status: 502,
      responders: { '/verify': ok, '/settle': (send) => send(200, 'settled!') },
    },
    'has a fault of its own': {
      status: 503,
      responders: {
        '/verify': (send) => send(200, '{"isValid":false,"invalidReason":"facilitator_fee_account_unfunded"}'),
      },
    },
  }
  const before = await market.dollars()
  await Promise.all(
    Object.entries(hostile).map(async ([name, { status, responders }]) => {
      const { url } = await openServer(t, (request, response) => {
        if (request.url === '/supported') response.end(JSON.stringify(real))
        else
          responders[request.url!]?.((code, body, headers = {}) => response.writeHead(code, headers as never).end(body))
      })
      // The others respond, however slow the machine is.
      const timeoutMs = name.startsWith('hangs') ? 500 : 120_000
      const facilitators = httpFacilitator({ url, timeoutMs })
      const stall = await openStall(t, market, { routes: cents(market, 'GET /a'), facilitators })
      const response = await show(`${stall.url}/a`, await market.payment(await fetch(`${stall.url}/a`)))
      assert.equal(response.status, status, name)
      assert.ok(!(await response.text()).includes('goods'), name)
    }),
  )
  assert.equal(await market.dollars(), before)
})

// Published: the facilitator's verdict is accepted. Ours: the gate checks amount, payee, asset and network too.
test('S11 a payment of another amount or to another payee is rejected even if the facilitator calls it valid', async (t) => {
  const yes = altered(market.local, {
    verify: async () => ({ isValid: true }),
    settle: async (_, { network }) => ({ success: true, transaction: 'X', network }),
  })
  const stranger = newAddress()
  market.devnet.fund(stranger, { microAlgos: 1_000_000n })
  market.devnet.optIn(stranger, 31566704n)
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  const { url, runs } = await openStall(t, market, {
    facilitators: yes,
    routes: {
      'GET /a': { accepts },
      'GET /less': { accepts: { ...accepts, price: '$0.001' } },
      'GET /theirs': { accepts: { ...accepts, payTo: stranger } },
    },
  })
  const {
    accepts: [wanted],
  } = await requiredOf(await fetch(`${url}/a`))
  for (const path of ['/less', '/theirs']) {
    const header = await market.payment(await fetch(`${url}${path}`), (payload) => {
      delete payload.resource
      payload.accepted = wanted as never
    })
    assert.equal((await show(`${url}/a`, header)).status, 402, path)
  }
  assert.equal(runs(), 0)
})

// Published: a confirmation timeout is a failure although the money moved. Ours: the ledger is checked.
test('S11 a settled payment is served even if the facilitator reports a failure', async (t) => {
  const doubtful = altered(market.local, {
    isTrusted: false,
    settle: async (payload, requirements, ...rest) => {
      await market.local.settle(payload, requirements, ...rest)
      const errorReason = 'invalid_exact_avm_confirmation_failed'
      return { success: false, errorReason, transaction: '', network: requirements.network }
    },
  })
  const { url } = await openStall(t, market, { routes: cents(market, 'GET /a'), facilitators: doubtful })
  const before = await market.dollars()
  const header = await market.payment(await fetch(`${url}/a`))
  assert.equal((await show(`${url}/a`, header)).status, 200)
  assert.equal((await market.dollars()) - before, cent)
})

// Published: a changed price is a mismatch. Ours: a quote stays valid until the time limit, on every replica.
test('S12 a quoted price is accepted after the price changes, also by other replicas; forged quotes are rejected', async (t) => {
  let price = '$0.01'
  const routes = {
    'GET /a': { accepts: { network: market.chain.caip2, price: () => price, payTo: market.seller } },
  }
  const quoteSecret = 'a secret of all replicas'
  const [one, other] = [
    await openStall(t, market, { routes, quoteSecret }),
    await openStall(t, market, { routes, quoteSecret }),
  ]
  const stranger = await openStall(t, market, { routes, quoteSecret: 'the secret of another seller' })
  const headers = [await market.payment(await fetch(`${one.url}/a`)), await market.payment(await fetch(`${one.url}/a`))]
  const forged = await market.payment(await fetch(`${one.url}/a`), ({ accepted }) => {
    accepted['amount'] = '1'
  })
  price = '$0.05'
  const before = await market.dollars()
  assert.equal((await show(`${stranger.url}/a`, headers[0]!)).status, 402)
  assert.equal((await show(`${one.url}/a`, forged)).status, 402)
  assert.equal((await show(`${one.url}/a`, headers[0]!)).status, 200)
  assert.equal((await show(`${other.url}/a`, headers[1]!)).status, 200)
  assert.equal((await market.dollars()) - before, 2n * cent)
})

// Published: the Host header determines the resource's URL. Ours: `origin` does, and an invalid host is rejected.
test('S13 the option `origin` replaces the Host header, and an invalid Host is rejected', async (t) => {
  const routes = cents(market, 'GET /a')
  const { url } = await openStall(t, market, { routes, origin: 'https://shop.example' })
  const { head } = await rawRequest(url, '/a?x=1', { host: 'evil.example' })
  const header = /payment-required: (\S+)/i.exec(head)![1]!
  const { resource } = JSON.parse(Buffer.from(header, 'base64').toString()) as { resource: { url: string } }
  assert.equal(resource.url, 'https://shop.example/a?x=1')
  const open = await openStall(t, market, { routes })
  for (const host of ['evil/free?', 'evil#', 'a@b', 'evil\\free']) {
    assert.equal((await rawRequest(open.url, '/a', { host })).status, 400, host)
  }
  assert.equal(open.runs(), 0)
})

// Published: process.exit(1) in a library. Ours: an error that the program can catch.
test('S14 an invalid configuration rejects `Gate.open` and does not end the process', async (t) => {
  t.mock.method(process, 'exit', () => assert.fail('the process was ended'))
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  const notOptedIn = newAddress()
  const bad: [object, RegExp][] = [
    [{ ...accepts, network: 'mainnet' }, /no chain was passed for MainNet/],
    [{ ...accepts, payTo: 'invalid' }, /payTo is not an Algorand address/],
    [{ ...accepts, payTo: notOptedIn }, /not opted in to asset 31566704/],
    [{ ...accepts, price: 'cheap' }, /is not a price/],
    [{ ...accepts, price: { asset: '999999', amount: '1' } }, /asset 999999/],
    [{ ...accepts, maxTimeoutSeconds: 0 }, /maxTimeoutSeconds/],
    [{ ...accepts, paymentFlow: 'escrow' }, /paymentFlow cannot be "escrow"/],
    [{ ...accepts, scheme: 'upto' }, /scheme cannot be "upto"/],
    [{ ...accepts, extra: { feePayer: market.seller } }, /extra.feePayer/],
  ]
  for (const [accept, expected] of bad) {
    const opened = market.gate({ routes: { 'GET /a': { accepts: accept as never } } })
    await assert.rejects(opened, (error: Error) => error instanceof GateError && expected.test(error.message))
  }
  await assert.rejects(market.gate({ routes: {} }), /routes is empty/)
  await assert.rejects(market.gate({ routes: cents(market, 'GET weather') }), /start with a slash/)
})

// Published: the Next proxy settles before the handler. Ours: nothing is settled until the handler has responded.
test('S15 nothing is charged before the handler responds', async (t) => {
  const before = await market.dollars()
  let during: bigint | undefined
  const { url } = await openStall(t, market, { routes: cents(market, 'GET /a') }, async (_, response) => {
    during = await market.dollars()
    response.end('goods')
  })
  assert.equal((await market.payingFetch(`${url}/a`)).status, 200)
  assert.equal(during, before)
  assert.equal((await market.dollars()) - before, cent)
})

// Published: a hook that throws after the settlement makes it an error. Ours: no hook runs between both.
test('S16 an `onError` that throws does not undo a settlement', async (t) => {
  const broken = (): never => {
    throw new Error('the logger is broken')
  }
  const facilitator = new Facilitator({
    chains: [market.chain],
    feePayer: Signer.fromMnemonic(market.devnet.accounts[3]!.mnemonic),
    pollMs: 20,
    onError: broken,
  })
  t.after(() => facilitator.stop())
  const { url } = await openStall(t, market, {
    routes: cents(market, 'GET /a'),
    facilitators: localFacilitator(facilitator),
    onError: broken,
  })
  assert.equal((await market.payingFetch(`${url}/a`)).status, 200)
})

// Published: a header of the handler, or of its upstream, changes the amount. Ours: nothing in the response does.
test('S17 headers of the handler do not change the amount', async (t) => {
  const { url } = await openStall(t, market, { routes: cents(market, 'GET /a') }, (_, response) => {
    response.setHeader('Settlement-Overrides', '{"amount":"1"}')
    response.setHeader('PAYMENT-RESPONSE', 'e30=')
    response.end('goods')
  })
  const before = await market.dollars()
  const response = await market.payingFetch(`${url}/a`)
  assert.equal(headerJson(response, 'payment-response')['amount'], '10000')
  assert.equal((await market.dollars()) - before, cent)
})

// Published: two registered networks match the whole family. Ours: only configured networks are accepted.
test('S18 only configured networks are accepted, in both forms of their ids', async (t) => {
  const { url } = await openStall(t, market, { routes: cents(market, 'GET /a') })
  const full = `algorand:${market.devnet.genesisHash}`
  const header = await market.payment(await fetch(`${url}/a`), ({ accepted }) => {
    accepted['network'] = full
  })
  assert.equal((await show(`${url}/a`, header)).status, 200)
  const foreign = await market.payment(await fetch(`${url}/a`), ({ accepted }) => {
    accepted['network'] = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
  })
  assert.equal((await requiredOf(await show(`${url}/a`, foreign))).error, 'No matching payment requirements')
  const legacy = altered(market.local, {
    supported: () => {
      const { kinds, ...rest } = market.facilitator.supported()
      return { ...rest, kinds: kinds.map((kind) => ({ ...kind, network: full as never })) }
    },
  })
  const old = await openStall(t, market, { routes: cents(market, 'GET /a'), facilitators: legacy })
  assert.equal((await requiredOf(await fetch(`${old.url}/a`))).accepts[0]!['network'], full)
  assert.equal((await market.payingFetch(`${old.url}/a`)).status, 200)
})

// Published: data is put into a script without escaping. Ours: data is escaped, and a policy allows no inline script.
test('S19 texts of sellers and buyers are escaped in the payment page', async (t) => {
  const description = '</script><script>alert(1)</script>'
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  const { url } = await openStall(t, market, { routes: { 'GET /a': { accepts, description } } })
  const headers = { Accept: 'text/html', 'User-Agent': 'Mozilla/5.0' }
  const program = await fetch(`${url}/a?<script>`, { headers })
  assert.deepEqual([program.status, program.headers.get('content-type')], [402, 'application/json'])
  // A raw request, because `fetch` sends headers that identify it as a program.
  const { status, head, body } = await rawRequest(url, "/a?'%3Cscript%3E{x}", { headers })
  assert.equal(status, 402)
  assert.equal((await rawRequest(url, '/a?<script>', { headers })).status, 400)
  assert.match(head, /content-security-policy: default-src 'none'; script-src 'self';/i)
  assert.equal(body.match(/<script/g)!.length, 2)
  assert.ok(!body.includes('<script>'))
})

// Uses the same facilitator that the command runs, over HTTP and untrusted.
test('S11 a payment settled by an untrusted facilitator over HTTP is served', async (t) => {
  const { url: facilitators } = await serveFacilitator(t, market.facilitator)
  const { url } = await openStall(t, market, { routes: cents(market, 'GET /a'), facilitators })
  const before = await market.dollars()
  assert.equal((await market.payingFetch(`${url}/a`)).status, 200)
  assert.equal((await market.dollars()) - before, cent)
})
