/** Tests `latchkey mcp --http`: the official client with its token, and everyone else without. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { until } from '../process/commands.test.helper.js'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { cent, data, dollar, errorOf, type Fetched, summary, WalletStack } from './walletStack.test.helper.js'

const eras: { readonly [era: string]: ClientOptions } = {
  legacy: {},
  modern: { versionNegotiation: { mode: 'auto' } },
}

suite('latchkey mcp --http', { timeout: 600_000 }, () => {
  const steps: (() => unknown)[] = []
  const scope = { after: (work: () => unknown) => void steps.unshift(work) }
  let stack: WalletStack
  let served: ChildProcess
  let facts: { url: string; tokenFile: string; agent: string }
  let token: string

  before(async () => {
    stack = await WalletStack.start(scope)
    const above = [{ network: stack.network, assetId: dollar, amount: 5n * cent }]
    const { tokenFile } = await stack.newAgent({ ask: { above } })
    const args = [...stack.arguments(tokenFile), '--http', '0', '--json']
    served = spawn(process.execPath, [latchkeyCommand, ...args], { env: stack.environment(), stdio: 'pipe' })
    let [stdout, stderr] = ['', '']
    served.stdout!.on('data', (piece) => {
      stdout += piece
    })
    served.stderr!.on('data', (piece) => {
      stderr += piece
    })
    await until('the server', () => {
      assert.equal(served.exitCode, null, stderr)
      return stdout.endsWith('\n')
    })
    facts = JSON.parse(stdout)
    token = readFileSync(facts.tokenFile, 'utf8').trim()
  })
  after(async () => {
    served.kill('SIGTERM')
    const [code] = await once(served, 'close')
    for (const step of steps) await step()
    assert.equal(code, 0)
  })

  async function connect(options: ClientOptions): Promise<Client> {
    const client = new Client({ name: 'test', version: '1.0.0' }, options)
    const requestInit = { headers: { Authorization: `Bearer ${token}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(facts.url), { requestInit }))
    scope.after(() => client.close())
    return client
  }

  test('the token is random, in a file that only this user can read', () => {
    assert.match(token, /^[A-Za-z0-9_-]{43}$/)
    assert.equal(statSync(facts.tokenFile).mode & 0o777, 0o600)
    assert.equal(facts.tokenFile, join(stack.directory, '.latchkey', 'mcp', 'http.token'))
  })

  for (const [era, options] of Object.entries(eras)) {
    test(`every tool (${era})`, async () => {
      const client = await connect(options)
      assert.equal(client.getProtocolEra(), era)
      const url = stack.sells(`/http-${era}`, 'sunny')
      const earned = await stack.earned()
      const call = (name: string, args: { [name: string]: unknown } = {}) => client.callTool({ name, arguments: args })
      assert.equal(data(await call('wallet_budget'))['agent'], facts.agent)
      assert.equal(data(await call('price_of', { url }))['is_free'], false)
      const fetched = await call('paid_fetch', { url, max: '$0.01' })
      assert.equal(errorOf(fetched), undefined, summary(fetched))
      const { transaction_id: id } = (data(fetched) as Fetched).paid
      assert.ok(JSON.stringify(data(await call('list_payments', { url }))).includes(id))
      assert.ok(JSON.stringify(data(await call('find_payment', { transaction_id: id }))).includes('settled'))
      assert.equal(await stack.earned(), earned + cent)
      // Each request has its own server, and all share one wallet.
      const dear = stack.sells(`/http-dear-${era}`, 'dear', { amount: 10n * cent })
      const { approval_id: approval } = data(await call('paid_fetch', { url: dear, max: '$0.10' })) as Fetched
      await stack.kmd.approvals.approve({ id: approval! })
      const decided = await call('wait_for_approval', { approval_id: approval })
      assert.match(String(data(decided)['next']), /Call paid_fetch again/)
      const bought = data(await call('paid_fetch', { url: dear, max: '$0.10' })) as Fetched
      assert.equal(bought.untrusted.text, 'dear')
      assert.equal(await stack.earned(), earned + 11n * cent)
      const { contents } = await client.readResource({ uri: 'latchkey://payments' })
      assert.ok(JSON.stringify(contents).includes(id))
    })
  }

  test('nothing is served without the token, to other pages or under other host names', async () => {
    const { port } = new URL(facts.url)
    const ask = (headers: { [name: string]: string }, path = '/mcp'): Promise<number> =>
      new Promise((resolve, reject) => {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
        const all = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers }
        request({ host: '127.0.0.1', port, path, method: 'POST', headers: all }, (response) => {
          response.resume()
          response.on('end', () => resolve(response.statusCode!))
        })
          .on('error', reject)
          .end(body)
      })
    const good = { Authorization: `Bearer ${token}` }
    assert.equal(await ask(good), 200)
    assert.equal(await ask({}), 401)
    assert.equal(await ask({ Authorization: 'Bearer wrong' }), 401)
    assert.equal(await ask({ Authorization: `Bearer ${token}x` }), 401)
    assert.equal(await ask({ Authorization: `Basic ${token}` }), 401)
    assert.equal(await ask({ ...good, Host: `evil.example:${port}` }), 403)
    assert.equal(await ask({ ...good, Host: '127.0.0.1.evil.example' }), 403)
    assert.equal(await ask({ ...good, Origin: 'https://evil.example' }), 403)
    assert.equal(await ask({ ...good, Origin: 'null' }), 403)
    assert.equal(await ask({ ...good, Origin: `http://localhost:${port}` }), 200)
    assert.equal(await ask(good, '/'), 404)
  })

  test('a token file that others can read is refused', async () => {
    const file = join(stack.directory, 'shared.token')
    writeFileSync(file, 'x'.repeat(43))
    chmodSync(file, 0o644)
    const { tokenFile } = await stack.newAgent()
    const args = [...stack.arguments(tokenFile), '--http', '0', '--http-token-file', file]
    const child = spawn(process.execPath, [latchkeyCommand, ...args], { env: stack.environment(), stdio: 'pipe' })
    let stderr = ''
    child.stderr.on('data', (piece) => {
      stderr += piece
    })
    const [code] = await once(child, 'close')
    assert.equal(code, 3)
    assert.match(
      stderr,
      /other users can access .*, so its token is not secret; remove the file; a new one is then created/,
    )
  })
})
