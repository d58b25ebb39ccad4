/** Tests the logs of all servers: one line per request, no secret, and rotation while requests are served. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { Devnet } from '@latchkey/devnet'
import { type StartOptions, startDaemon, type TestDaemon } from '../support/daemon.test.helper.js'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { openTerminal } from '../support/terminal.test.helper.js'
import { atEnd, dataDirectory, temporaryDirectory, until } from './commands.test.helper.js'

type Line = { level: string; msg: string; route?: string; status?: number; request_id?: string; method?: string }

const linesOf = (path: string): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1)
const parsed = (path: string): Line[] => linesOf(path).map((line) => JSON.parse(line))

async function start(t: TestContext, options: StartOptions = {}): Promise<TestDaemon> {
  const daemon = await startDaemon({ dir: dataDirectory(t), ...options })
  atEnd(t, () => daemon.child.kill('SIGKILL'))
  return daemon
}

type Facts = { url: string; indexerUrl: string; seller: { url: string } }
type Running = { child: ChildProcess; facts: Facts; stderr: () => string }

/** Starts a server of `latchkey` whose first line on stdout is JSON. */
async function startServer(t: TestContext, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Running> {
  const child = spawn(process.execPath, [latchkeyCommand, ...args, '--json'], {
    env: { PATH: process.env['PATH'], HOME: temporaryDirectory(t), ...env },
  })
  atEnd(t, () => child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  await until(`${args[0]} to start`, () => {
    assert.equal(child.exitCode, null, stderr)
    return stdout.includes('\n')
  })
  return { child, facts: JSON.parse(stdout), stderr: () => stderr }
}

/** Each value is a secret in some part of a request. */
const planted = {
  token: 'planted0token'.repeat(5),
  password: 'planted-password',
  header: 'planted-header',
  path: 'planted-path',
  query: 'planted-query',
  method: 'PLANTEDMETHOD',
  payload: 'planted-payload',
}

/** Sends the secrets in every part of a request. */
async function plant(url: string, paths: readonly string[], body: unknown): Promise<void> {
  const headers = {
    'X-Request-Id': planted.token,
    'X-KMD-API-Token': planted.token,
    'X-API-Key': planted.header,
    'X-Algo-API-Token': planted.header,
    Authorization: `Bearer ${planted.header}`,
    Cookie: planted.header,
    'PAYMENT-SIGNATURE': planted.payload,
    'X-Payment': planted.payload,
    'User-Agent': planted.header,
    Origin: `http://${planted.header}.example`,
    'Content-Type': 'application/json',
  }
  for (const path of [...paths, `/${planted.path}`]) {
    const target = `${url}${path}?secret=${planted.query}`
    await fetch(target, { headers }).then((response) => response.text())
    await fetch(target, { method: 'POST', headers, body: JSON.stringify(body) }).then((response) => response.text())
    await fetch(target, { method: planted.method, headers }).then((response) => response.text())
  }
}

function assertNoSecret(log: string, secrets: readonly string[]): void {
  for (const secret of [...Object.values(planted), ...secrets]) assert.ok(!log.includes(secret), `${secret} is logged`)
}

suite('logs of servers', { concurrency: 2 }, () => {
  for (const format of ['text', 'json'] as const) {
    test(`the daemon logs one line of ${format} per request, and no secret`, async (t) => {
      const daemon = await start(t, { config: { log_format: format } })
      const password = { wallet_password: planted.password }
      const wallet = { wallet_name: 'w', wallet_driver_name: 'sqlite', ...password }
      const created = await daemon.call('POST', '/v1/wallet', wallet)
      const { id } = created.json.wallet
      const opened = await daemon.call('POST', '/v1/wallet/init', { wallet_id: id, ...password })
      const { wallet_handle_token } = opened.json
      const { address } = (await daemon.call('POST', '/v1/key', { wallet_handle_token })).json
      const key = { wallet_handle_token, address, ...password }
      const { private_key } = (await daemon.call('POST', '/v1/key/export', key)).json
      await daemon.call('POST', '/v1/wallet/init', { wallet_id: id, wallet_password: `${planted.password}x` })
      await daemon.call('POST', '/v1/wallet/renew', { wallet_handle_token: `${planted.path}.${planted.query}` })
      const exported = await daemon.call('POST', '/v1/master-key/export', { wallet_handle_token, ...password })
      await plant(daemon.baseUrl, ['/v1/wallets', '/v1/key', '/console/', '/latchkey/v1/health'], wallet)
      assert.equal(await daemon.stop(), 0)
      const path = join(daemon.dir, 'kmd.log')
      const log = readFileSync(path, 'utf8') + daemon.output()
      const secrets = [daemon.token, wallet_handle_token, private_key, exported.json.master_derivation_key, address]
      assertNoSecret(log, secrets)
      const requests = linesOf(path).filter((line) => /msg=request|"msg":"request"/.test(line))
      assert.equal(requests.length, 7 + 5 * 3)
      const own = requests.find((line) => line.includes(String(opened.headers['x-request-id'])))
      assert.match(own!, /\/v1\/wallet\/init/)
      if (format === 'json') for (const line of linesOf(path)) JSON.parse(line)
    })
  }

  test('rotation under load, with rename and SIGHUP, loses or tears no line', { timeout: 120_000 }, async (t) => {
    const daemon = await start(t, { config: { log_format: 'json' } })
    const path = join(daemon.dir, 'kmd.log')
    let isOver = false
    const sent: string[] = []
    const client = async (name: string): Promise<void> => {
      for (let count = 0; !isOver; count++) {
        const id = `${name}-${count}`
        const { headers } = await fetch(`${daemon.baseUrl}/versions`, { headers: { 'X-Request-Id': id } })
        assert.equal(headers.get('x-request-id'), id)
        sent.push(id)
      }
    }
    const clients = ['a', 'b', 'c', 'd'].map(client)
    for (let rotation = 1; rotation <= 5; rotation++) {
      const before = sent.length
      await until('some requests', () => sent.length > before + 100)
      renameSync(path, `${path}.${rotation}`)
      await until('some more into the renamed file', () => sent.length > before + 200)
      daemon.child.kill('SIGHUP')
      await until('the new file', () => readdirSync(daemon.dir).includes('kmd.log'))
    }
    isOver = true
    await Promise.all(clients)
    assert.equal(await daemon.stop(), 0)
    const files = readdirSync(daemon.dir).filter((name) => name.startsWith('kmd.log'))
    assert.equal(files.length, 6)
    const lines = files.flatMap((name) => parsed(join(daemon.dir, name)))
    const logged = lines.flatMap(({ request_id }) => request_id ?? [])
    assert.deepEqual(logged.sort(), sent.sort())
  })

  test('SIGKILL leaves complete lines, and the next daemon appends to them', async (t) => {
    const daemon = await start(t, { config: { log_format: 'json' } })
    for (let i = 0; i < 20; i++) await daemon.call('GET', '/versions')
    const path = join(daemon.dir, 'kmd.log')
    await until('the lines', () => linesOf(path).length >= 21)
    daemon.child.kill('SIGKILL')
    await daemon.exited
    const before = parsed(path).length
    const next = await start(t, { dir: daemon.dir, config: { log_format: 'json' } })
    assert.equal(await next.stop(), 0)
    assert.ok(parsed(path).length >= before + 3)
  })

  test('SIGHUP applies settings, and names those that need a restart', async (t) => {
    const daemon = await start(t)
    const settings = JSON.parse(readFileSync(join(daemon.dir, 'kmd_config.json'), 'utf8'))
    const file = join(daemon.dir, 'kmd_config.json')
    const log = (): string => readFileSync(join(daemon.dir, 'kmd.log'), 'utf8')
    writeFileSync(file, '{"session_lifetime_secs": 1')
    daemon.child.kill('SIGHUP')
    await until('the error', () => /kmd_config\.json was not applied.*is not JSON/.test(log()))
    writeFileSync(file, JSON.stringify({ ...settings, allowed_hosts: ['keys.example'], address: '127.0.0.1:1' }))
    daemon.child.kill('SIGHUP')
    await until('what was taken over', () => /applied allowed_hosts from kmd_config\.json/.test(log()))
    await until('what waits', () => /address changed in kmd_config\.json: restart the daemon to apply it/.test(log()))
    const named = await daemon.call('GET', '/versions', undefined, { headers: { Host: 'keys.example' } })
    assert.equal(named.status, 200)
    assert.equal(await daemon.stop(), 0)
  })

  test('the devnet logs JSON to stderr, or to a file that SIGHUP reopens; no secret', async (t) => {
    const file = join(temporaryDirectory(t), 'devnet.log')
    const options = ['devnet', '--port', '0', '--indexer-port', '0', '--token', planted.header]
    const plain = await startServer(t, options)
    const logged = await startServer(t, [...options, '--log-file', file])
    for (const { facts } of [plain, logged]) {
      const paths = ['/v2/status', '/v2/accounts/planted-path', '/v2/transactions/pending/planted-path', '/devnet/fund']
      await plant(facts.url, paths, { address: planted.payload })
      await plant(facts.indexerUrl, ['/v2/accounts/planted-path/transactions'], {})
    }
    const asked = await fetch(`${logged.facts.url}/v2/status`, { headers: { 'X-Request-Id': 'mine' } })
    assert.equal(asked.headers.get('x-request-id'), 'mine')
    await until('the line in the file', () => linesOf(file).some((line) => line.includes('"mine"')))
    renameSync(file, `${file}.1`)
    logged.child.kill('SIGHUP')
    await until('the new file', () => readdirSync(join(file, '..')).includes('devnet.log'))
    await fetch(`${logged.facts.url}/v2/status`)
    await until('a line in it', () => linesOf(file).length > 0)
    assert.equal(logged.stderr(), '')
    await until('the lines on stderr', () => plain.stderr().split('\n').length > 20)
    assertNoSecret(plain.stderr() + readFileSync(file, 'utf8') + readFileSync(`${file}.1`, 'utf8'), [])
    const routes = new Set(parsed(`${file}.1`).map(({ route }) => route))
    assert.ok(routes.has('/v2/accounts/{account-id}/transactions'), [...routes].join())
  })

  test('the facilitator logs each request with its id and path, and no payment', async (t) => {
    const devnet = await Devnet.start({ port: 0 })
    atEnd(t, () => devnet.stop())
    const chain = ['--network', 'local', '--node', devnet.url, '--dollar', '31566704']
    const { child, facts, stderr } = await startServer(t, ['facilitator', '--port', '0', ...chain], {
      FACILITATOR_API_KEYS: planted.header,
    })
    const payload = { x402Version: 2, payload: { paymentGroup: [planted.payload] } }
    const body = { paymentPayload: payload, paymentRequirements: { network: planted.payload } }
    await plant(facts.url, ['/verify', '/settle', '/supported', '/health'], body)
    child.kill('SIGHUP')
    const { headers } = await fetch(`${facts.url}/supported`)
    const id = headers.get('x-request-id')
    await until('its line', () => stderr().includes(`"${id}"`))
    const lines: Line[] = stderr()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
    assert.equal(lines.filter(({ msg }) => msg === 'request').length, 5 * 3 + 1)
    const last = lines.at(-1)!
    assert.deepEqual([last.method, last.route, last.status, last.level], ['GET', '/supported', 200, 'info'])
    assertNoSecret(stderr(), [])
    assert.equal(child.exitCode, null)
  })

  test('the stack of latchkey dev logs its requests to a separate file', { timeout: 240_000 }, async (t) => {
    const directory = temporaryDirectory(t)
    const args = ['dev', '--any-port', '--dir', join(directory, 'stack')]
    const { child, facts } = await startServer(t, args, { TMPDIR: directory, XDG_STATE_HOME: directory })
    const seller = new URL(facts.seller.url)
    await plant(seller.origin, ['/weather'], {})
    const { status, headers } = await fetch(seller, { headers: { 'X-Request-Id': 'mine' } })
    assert.deepEqual([status, headers.get('x-request-id')], [402, 'mine'])
    // Without a terminal, the process does not belong to one.
    child.kill('SIGHUP')
    const path = join(directory, 'stack', 'requests.log')
    await until('the line', () => linesOf(path).some((line) => line.includes('"mine"')))
    assertNoSecret(readFileSync(path, 'utf8'), ['a'.repeat(64)])
    const lines = parsed(path) as (Line & { server: string })[]
    assert.deepEqual([...new Set(lines.map(({ server }) => server))].sort(), ['devnet', 'facilitator', 'seller'])
    assert.equal((await fetch(seller)).status, 402)
    child.kill('SIGTERM')
    await once(child, 'close')
  })

  test('on a terminal the log is text, and --log-level filters lines', {
    skip: missingProgram('python3'),
  }, async (t) => {
    const home = temporaryDirectory(t)
    const env = { ...process.env, HOME: home }
    const run = (...args: string[]) => openTerminal(t, [process.execPath, latchkeyCommand, ...args], { env })
    for (const level of ['info', 'warning']) {
      const terminal = run('devnet', '--port', '0', '--log-level', level)
      await terminal.sees('Try it:')
      const [, url] = /Address +(http:\S+)/.exec(terminal.screen())!
      await fetch(`${url}/v2/status`)
      await fetch(`${url}/v2/status?x`, { method: 'POST' })
      if (level === 'info') await terminal.sees('level=info msg=request method=GET route=/v2/status status=200')
      else assert.doesNotMatch(terminal.screen(), /level=info/)
      terminal.type('\x03')
      assert.equal((await terminal.ended).code, 0)
    }
    const dataDir = dataDirectory(t)
    const daemon = run('kmd', '-d', dataDir)
    await daemon.sees('Try it:')
    const [, address] = /Address +(http:\S+)/.exec(daemon.screen())!
    await fetch(`${address}/versions`)
    await daemon.sees('level=warning msg=request method=GET route=/versions status=401')
    daemon.type('\x03')
    assert.equal((await daemon.ended).code, 0)
    assert.ok(parsed(join(dataDir, 'kmd.log')).some(({ route }) => route === '/versions'))
  })

  test('a closed or stalled stderr stops no server', async (t) => {
    const closed = await startServer(t, ['devnet', '--port', '0'])
    closed.child.stderr!.destroy()
    const stalled = await startServer(t, ['devnet', '--port', '0'])
    stalled.child.stderr!.pause()
    for (const { child, facts } of [closed, stalled]) {
      // Far more than fits in a pipe.
      for (let i = 0; i < 1_500; i++) assert.equal((await fetch(`${facts.url}/v2/status`)).status, 200)
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      assert.deepEqual(await exited, [0, null])
    }
  })
})
