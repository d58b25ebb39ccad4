/**
 * Debian's Prometheus scrapes every server with the files in deploy/, loads the rules, and runs the dashboard's
 * queries.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { atEnd, type Kmd, start, suiteScope, temporaryDirectory, until } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { type DevnetFacts, latchkeyCommand, startDevnet } from '../support/devnet.test.helper.js'

const programs = process.env['PROMETHEUS_BIN'] ?? '/usr/bin'
const files = join(root, 'deploy', 'prometheus')
const read = (...path: string[]): string => readFileSync(join(root, 'deploy', ...path), 'utf8')

type Target = { labels: { job: string }; health: string; lastError: string }
type Rule = { name: string; health: string; lastError?: string }
type Panel = {
  id: number
  type: string
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets?: { expr: string; refId: string }[]
}

function promtool(args: string[], options: { input?: string; cwd?: string } = {}) {
  return spawnSync(join(programs, 'promtool'), args, { encoding: 'utf8', timeout: 60_000, ...options })
}

suite('Prometheus', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  const directory = temporaryDirectory(scope)
  const tokenFile = join(directory, 'latchkey-metrics.token')
  let kmd: Kmd
  let facts: DevnetFacts
  let facilitator: string
  let api: (path: string) => Promise<unknown>
  let token: string

  before(async () => {
    kmd = await start(scope)
    ;({ facts } = await startDevnet(scope))
    facilitator = await startFacilitator()
    const created = spawnSync(process.execPath, [
      latchkeyCommand,
      'token',
      'metrics',
      '-d',
      kmd.dataDir,
      '-o',
      tokenFile,
    ])
    assert.equal(created.status, 0, String(created.stderr))
    token = readFileSync(tokenFile, 'utf8')
    // Generates events to count.
    const [headers, body] = [{ 'Content-Type': 'application/json' }, '{"paymentPayload":{},"paymentRequirements":{}}']
    for (const path of ['verify', 'settle']) await fetch(`${facilitator}/${path}`, { method: 'POST', headers, body })
    await kmd.unlock(await kmd.create('one', 'secret'), 'secret')
    api = await startPrometheus()
  })

  async function startFacilitator(): Promise<string> {
    const chain = ['--port', '0', '--json', '--network', 'local', '--node', facts.url, '--dollar', '31566704']
    const args = [latchkeyCommand, 'facilitator', ...chain, '--store', join(directory, 'settlements.db')]
    const env = { PATH: process.env['PATH'], HOME: directory, AVM_MNEMONIC: facts.accounts[0]!.mnemonic }
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
    atEnd(scope, () => child.kill('SIGKILL'))
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    await until('the facilitator', () => output.endsWith('\n'))
    return (JSON.parse(output) as { url: string }).url
  }

  /** Starts Prometheus with the configuration of the repository and the addresses of this test. */
  async function startPrometheus(): Promise<(path: string) => Promise<unknown>> {
    const host = (url: string): string => new URL(url).host
    const config = read('prometheus', 'prometheus.yml')
      .replaceAll('15s', '5s')
      .replace('latchkey.rules.yml', join(files, 'latchkey.rules.yml'))
      .replace('latchkey-metrics.token', tokenFile)
      .replace('127.0.0.1:7833', `127.0.0.1:${kmd.port}`)
      .replace('127.0.0.1:4022', host(facilitator))
      .replace('127.0.0.1:4001', host(facts.url))
    writeFileSync(join(directory, 'prometheus.yml'), config)
    const args = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', '--web.listen-address=127.0.0.1:0']
    const child = spawn(join(programs, 'prometheus'), args, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] })
    atEnd(scope, async () => {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
    })
    let log = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
    const [, port] = await until('its port', () => /Listening on" address=127\.0\.0\.1:([0-9]+)\s/.exec(log) ?? false)
    await until('Prometheus', async () => (await fetch(`http://127.0.0.1:${port}/-/ready`)).ok)
    return async (path) => {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)
      const { status, data, error } = (await response.json()) as { status: string; data: unknown; error?: string }
      assert.equal(status, 'success', `${path}: ${error}`)
      return data
    }
  }

  test('every server is scraped', async () => {
    const jobs = await until('three targets that are up', async () => {
      const { activeTargets } = (await api('targets')) as { activeTargets: Target[] }
      return activeTargets.length === 3 && activeTargets.every(({ health }) => health === 'up') && activeTargets
    })
    assert.deepEqual(jobs.map(({ labels }) => labels.job).sort(), [
      'latchkey-devnet',
      'latchkey-facilitator',
      'latchkey-kmd',
    ])
  })

  test('promtool accepts the metrics of every server', async () => {
    const bearer = { Authorization: `Bearer ${token}` }
    for (const url of [
      `http://127.0.0.1:${kmd.port}/latchkey/v1/metrics`,
      `${facilitator}/metrics`,
      `${facts.url}/metrics`,
    ]) {
      const response = await fetch(url, { headers: bearer })
      const { status, stdout, stderr } = promtool(['check', 'metrics'], { input: await response.text() })
      assert.deepEqual([status, stdout, stderr], [0, '', ''], url)
    }
  })

  test('the metrics token opens nothing else, and is accepted only as a bearer token', async () => {
    const paths = ['/v1/wallets', '/latchkey/v1/health', '/latchkey/v1/signings', '/latchkey/v1/console/link']
    const url = (path: string): string => `http://127.0.0.1:${kmd.port}${path}`
    for (const path of paths) {
      for (const headers of [{ Authorization: `Bearer ${token}` }, { 'X-KMD-API-Token': token }]) {
        for (const method of ['GET', 'POST']) {
          const { status } = await fetch(url(path), { method, headers })
          assert.ok(status === 401 || status === 405, `${method} ${path}: ${status}`)
        }
      }
    }
    assert.equal((await fetch(url('/latchkey/v1/metrics'), { headers: { 'X-KMD-API-Token': token } })).status, 401)
    assert.equal(
      (await fetch(url('/latchkey/v1/metrics'), { headers: { Authorization: `Bearer ${kmd.token}` } })).status,
      401,
    )
  })

  test('the rules load, hold without a fault, and fire when they should', async () => {
    const rules = await until('evaluated rules', async () => {
      const { groups } = (await api('rules')) as { groups: { rules: Rule[] }[] }
      const all = groups.flatMap((group) => group.rules)
      return all.length > 0 && all.every(({ health }) => health !== 'unknown') && all
    })
    for (const { name, health, lastError } of rules) assert.equal(health, 'ok', `${name}: ${lastError}`)
    for (const [action, file] of [
      ['check', 'latchkey.rules.yml'],
      ['test', 'latchkey.rules.test.yml'],
    ] as const) {
      const { status, stdout, stderr } = promtool([action, 'rules', file], { cwd: files })
      assert.equal(status, 0, stdout + stderr)
    }
  })

  test('the dashboard loads: every query runs, on metrics that are scraped', async () => {
    const board = JSON.parse(read('grafana', 'latchkey.json')) as { uid: string; panels: Panel[] }
    const { panels } = board
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length, 'panels have ids of their own')
    for (const [index, a] of panels.entries()) {
      for (const b of panels.slice(index + 1)) assert.ok(!overlap(a, b), `${a.title} is over ${b.title}`)
      assert.ok(a.gridPos.x + a.gridPos.w <= 24, a.title)
    }
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    assert.ok(expressions.length >= 15)
    const names = await until('the metrics of every server', async () => {
      const found = new Set((await api('label/__name__/values')) as string[])
      return ['up', 'latchkey_requests_total', 'latchkey_facilitator_healthy'].every((name) => found.has(name)) && found
    })
    // The metrics of replicas on PostgreSQL have no value here.
    const described = await (await fetch(`${facilitator}/metrics`)).text()
    for (const expression of expressions) {
      const query = expression.replaceAll('$__rate_interval', '1m')
      await api(`query?query=${encodeURIComponent(query)}`)
      const used = query.match(/\b(latchkey_[a-z_]+|up|process_resident_memory_bytes)\b/g) ?? []
      for (const name of used) {
        const isKnown = names.has(name) || described.includes(`# HELP ${name} `)
        assert.ok(isKnown, `${name}, which the board shows, is not scraped`)
      }
    }
  })

  test('a deleted token no longer works', async () => {
    const url = `http://127.0.0.1:${kmd.port}/latchkey/v1/metrics`
    const scrape = async (): Promise<number> =>
      (await fetch(url, { headers: { Authorization: `Bearer ${token}` } })).status
    assert.equal(await scrape(), 200)
    const args = [latchkeyCommand, 'token', 'metrics', '-d', kmd.dataDir, '--delete']
    assert.equal(spawnSync(process.execPath, args).status, 0)
    assert.equal(await scrape(), 401)
  })

  test('the password alert counts the status of a wrong password', async () => {
    const id = await kmd.create('guessed', 'secret')
    const { status } = await kmd.tryUnlock(id, 'guess')
    const [, statuses] = /InitWalletHandleToken",status=~"([^"]+)"/.exec(read('prometheus', 'latchkey.rules.yml'))!
    assert.ok(statuses!.split('|').includes(String(status)), String(status))
  })
})

function overlap({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}
