/**
 * Runs a dApp on its own port, as a Vite server would: the unmodified KMD provider of use-wallet, against `latchkey
 * dev`.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { bundle, call } from './bundle.test.helper.js'
import { launch, type Page, timeoutMs } from './chromium.test.helper.js'

const source = `
import { NetworkConfigBuilder, WalletId, WalletManager } from '@txnlab/use-wallet'
import algosdk from 'algosdk'

function open({ kmd, algod }) {
  return new WalletManager({
    wallets: [{ id: WalletId.KMD, options: kmd }],
    networks: new NetworkConfigBuilder().localnet({ algod }).build(),
    defaultNetwork: 'localnet',
  })
}

export async function useWallet(servers) {
  const manager = open(servers)
  const wallet = manager.getWallet(WalletId.KMD)
  const accounts = await wallet.connect()
  const [sender, receiver] = accounts.map(({ address }) => address)
  const client = manager.algodClient
  const suggestedParams = await client.getTransactionParams().do()
  const composer = new algosdk.AtomicTransactionComposer()
  for (const amount of [1_000_001, 2]) {
    const txn = algosdk.makePaymentTxnWithSuggestedParamsFromObject({ sender, receiver, amount, suggestedParams })
    composer.addTransaction({ txn, signer: manager.transactionSigner })
  }
  const { confirmedRound } = await composer.execute(client, 4)
  const balances = await Promise.all([sender, receiver].map(async (a) => String((await client.accountInformation(a).do()).amount)))
  // Simulates a page reload: the session is in the page's storage.
  await open(servers).getWallet(WalletId.KMD).resumeSession()
  await wallet.disconnect()
  return { accounts: accounts.map(({ address }) => address), confirmed: confirmedRound > 0n, balances, connected: wallet.isConnected }
}

export async function listWallets({ kmd: { token, baseServer, port } }) {
  return new algosdk.Kmd(token, baseServer, port).listWallets().then(({ wallets }) => wallets.length, (error) => error.message)
}
`

type Facts = {
  devnet: { url: string; onlineAccounts: { address: string }[] }
  kmd: { url: string; token: string }
  facilitator: { url: string }
}

const browser = await launch({ after })

async function startDev(t: TestContext, ...args: string[]): Promise<Facts> {
  const child = spawn(process.execPath, [latchkeyCommand, 'dev', '--ephemeral', '--any-port', '--json', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'close')
  t.after(async () => {
    child.kill('SIGTERM')
    await exited
  })
  let text = ''
  for await (const piece of child.stdout.setEncoding('utf8')) {
    text += piece
    if (text.endsWith('\n')) break
  }
  return JSON.parse(text) as Facts
}

function serversOf({ devnet, kmd }: Facts) {
  const [algodUrl, kmdUrl] = [new URL(devnet.url), new URL(kmd.url)]
  return {
    kmd: { token: kmd.token, baseServer: `http://${kmdUrl.hostname}`, port: kmdUrl.port },
    algod: { token: 'a'.repeat(64), baseServer: `http://${algodUrl.hostname}`, port: algodUrl.port },
  }
}

/** Opens an empty page with the origin. use-wallet asks for the password in a browser dialog. */
async function openPage(t: TestContext, host: string, listen = '127.0.0.1'): Promise<{ page: Page; origin: string }> {
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>dApp</title>')
  }).listen(0, listen)
  await once(server, 'listening')
  const context = await browser.newContext()
  t.after(async () => {
    await context.close()
    server.close()
    server.closeAllConnections()
  })
  const page = await context.newPage()
  page.setDefaultTimeout(timeoutMs)
  page.on('dialog', (dialog) => void dialog.accept(''))
  const origin = `http://${host}:${(server.address() as AddressInfo).port}`
  await page.goto(origin)
  return { page, origin }
}

test('use-wallet connects, signs and disconnects from another localhost port', { timeout: 240_000 }, async (t) => {
  const [facts, bundled] = await Promise.all([startDev(t), bundle(t, { source, nodeImports: 'empty' })])
  const rich = facts.devnet.onlineAccounts.map(({ address }) => address)
  const { page } = await openPage(t, 'localhost')
  const result = (await call(page, bundled, 'useWallet', serversOf(facts))) as {
    accounts: string[]
    balances: string[]
  }
  assert.deepEqual([...result.accounts].sort(), [...rich].sort())
  const before = result.accounts.slice(0, 2).map((address) => (rich.indexOf(address) === 2 ? 2n : 4n) * 10n ** 15n)
  assert.deepEqual(result, {
    accounts: result.accounts,
    confirmed: true,
    balances: [`${before[0]! - 1_000_003n - 2_000n}`, `${before[1]! + 1_000_003n}`],
    connected: false,
  })
})

test('pages of loopback and configured origins may call the daemon, others may not', {
  timeout: 240_000,
}, async (t) => {
  const [facts, bundled] = await Promise.all([
    startDev(t, '--allow-origin', 'http://dapp.test:8123'),
    bundle(t, { source, nodeImports: 'empty' }),
  ])
  const servers = serversOf(facts)
  for (const host of ['127.0.0.1', 'localhost', 'dapp.localhost']) {
    const { page } = await openPage(t, host)
    assert.equal(await call(page, bundled, 'listWallets', servers), 2, host)
  }
  const preflight = async (origin: string, url: string): Promise<(string | null)[]> => {
    const { headers } = await fetch(`${url}/v1/wallets`, {
      method: 'OPTIONS',
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'GET',
        'Access-Control-Request-Private-Network': 'true',
      },
    })
    return [headers.get('access-control-allow-origin'), headers.get('access-control-allow-private-network')]
  }
  for (const origin of ['http://localhost:5173', 'https://localhost', 'http://[::1]:3000', 'http://dapp.test:8123']) {
    assert.deepEqual(await preflight(origin, facts.kmd.url), [origin, 'true'], origin)
    assert.equal((await preflight(origin, facts.facilitator.url))[0], origin)
  }
  for (const origin of [
    'http://dapp.test',
    'https://evil.example',
    'http://localhost.evil.example',
    'null',
    'file://localhost',
  ]) {
    assert.equal((await preflight(origin, facts.kmd.url))[0], null, origin)
    assert.equal((await preflight(origin, facts.facilitator.url))[0], null, origin)
  }
  // The facilitator refuses payments that pages send in other ways, and lets no page read its responses.
  const verify = async (url: string, headers: { [name: string]: string }): Promise<[number, string | null]> => {
    const type = { 'Content-Type': 'application/json' }
    const init = { method: 'POST', headers: { ...headers, ...type }, body: '{"paymentPayload":' }
    const response = await fetch(`${url}/verify`, init)
    await response.arrayBuffer()
    return [response.status, response.headers.get('access-control-allow-origin')]
  }
  const fromSite = (origin: string) => verify(facts.facilitator.url, { Origin: origin, 'Sec-Fetch-Site': 'cross-site' })
  assert.deepEqual(await fromSite('http://localhost:5173'), [400, 'http://localhost:5173'], 'the body arrives')
  assert.deepEqual(await fromSite('https://evil.example'), [403, null])
  const { page } = await openPage(t, 'localhost')
  const status = await page.evaluate(
    async (url) =>
      (await fetch(`${url}/verify`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{' }))
        .status,
    facts.facilitator.url,
  )
  assert.equal(status, 400)
})
