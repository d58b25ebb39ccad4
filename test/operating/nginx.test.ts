/**
 * Tests the balancer configuration in a real nginx: which replica it asks, what it passes on, and when it asks another.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { before, beforeEach, suite, test } from 'node:test'
import { atEnd, suiteScope, temporaryDirectory, until } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { freePort } from '../support/freePort.test.helper.js'

const program = join(process.env['NGINX_BIN'] ?? '/usr/sbin', 'nginx')
const libraries = process.env['LATCHKEY_TEST_LIBRARIES']
const env = { PATH: process.env['PATH'], ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) }
const deployed = (path: string): string => readFileSync(join(root, 'deploy', path), 'utf8')

/** Writes the configuration into a directory, as the documentation copies it. */
function configure(directory: string, { upstream, port }: { upstream: string; port: number }): string[] {
  mkdirSync(join(directory, 'temp'), { recursive: true })
  writeFileSync(
    join(directory, 'nginx.conf'),
    deployed('nginx/nginx.conf').replace('listen 8402', `listen 127.0.0.1:${port}`),
  )
  writeFileSync(join(directory, 'upstream.conf'), upstream)
  return ['-p', directory, '-e', 'error.log', '-c', 'nginx.conf']
}

suite('nginx', { timeout: 120_000 }, () => {
  const scope = suiteScope()
  const directory = temporaryDirectory(scope)
  const seen: { replica: number; request: IncomingMessage; body: string }[] = []
  /** How each replica handles a request. */
  let behaviours: ((request: IncomingMessage, response: ServerResponse) => void)[]
  let url: string

  const ok = (_: IncomingMessage, response: ServerResponse): void => {
    response.setHeader('Content-Type', 'application/json').end('{}')
  }

  async function startReplica(replica: number): Promise<number> {
    const server = createServer((request, response) => {
      let body = ''
      request.setEncoding('utf8').on('data', (part: string) => {
        body += part
      })
      request.on('end', () => {
        seen.push({ replica, request, body })
        behaviours[replica]!(request, response)
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    atEnd(scope, () => {
      server.close()
      server.closeAllConnections()
    })
    return (server.address() as AddressInfo).port
  }

  before(async () => {
    const [first, second, port] = [await startReplica(0), await startReplica(1), await freePort()]
    const upstream = deployed('nginx/upstream.conf')
      .replace('127.0.0.1:4022', `127.0.0.1:${first}`)
      .replace('127.0.0.1:4023', `127.0.0.1:${second}`)
    const args = configure(directory, { upstream, port })
    const child: ChildProcess = spawn(program, [...args, '-g', 'daemon off;'], { env, stdio: 'ignore' })
    atEnd(scope, async () => {
      if (child.exitCode === null) {
        child.kill('SIGTERM')
        await once(child, 'close')
      }
    })
    url = `http://127.0.0.1:${port}`
    behaviours = [ok, ok]
    await until('nginx', async () => (await fetch(`${url}/supported`).catch(() => undefined))?.status === 200)
  })

  beforeEach(() => {
    seen.length = 0
    behaviours = [ok, ok]
  })

  const post = (path: string, body = '{}', headers: { [name: string]: string } = {}): Promise<Response> =>
    fetch(url + path, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } })

  test('nginx accepts the files, with the addresses of one machine and of the compose file', async (t) => {
    for (const file of ['nginx/upstream.conf', 'compose/upstream.conf']) {
      const upstream = deployed(file).replaceAll(/facilitator-[12]/g, '127.0.0.1')
      const place = temporaryDirectory(t)
      const { status, stderr } = spawnSync(program, [...configure(place, { upstream, port: await freePort() }), '-t'], {
        encoding: 'utf8',
        env,
      })
      assert.equal(status, 0, stderr)
    }
  })

  test('a payment that one replica drops midway is sent to the other, although it is a POST', async () => {
    for (const path of ['/verify', '/settle']) {
      seen.length = 0
      // The first replica to be asked drops it.
      behaviours = [0, 1].map(
        () => (request, response) => (seen.length === 1 ? request.socket.destroy() : ok(request, response)),
      )
      assert.equal((await post(path, '{"payment":1}')).status, 200)
      assert.equal(seen.length, 2)
      assert.notEqual(seen[0]!.replica, seen[1]!.replica)
      assert.deepEqual(
        seen.map(({ body }) => body),
        ['{"payment":1}', '{"payment":1}'],
      )
    }
  })

  test('a payment that a replica answers with 503 is sent to the other', async () => {
    behaviours = [0, 1].map(() => (request, response) => {
      if (seen.length === 1) response.writeHead(503).end()
      else ok(request, response)
    })
    assert.equal((await post('/settle')).status, 200)
    assert.equal(seen.length, 2)
  })

  test("a replica's response is passed on unchanged, including a refusal", async () => {
    behaviours = [0, 1].map(() => (_, response) => response.writeHead(401).end('no key'))
    const response = await post('/verify')
    assert.deepEqual([response.status, await response.text(), seen.length], [401, 'no key', 1])
  })

  test('the client address is that of the connection, whatever the client claims', async () => {
    await post('/verify', '{}', { 'X-Real-IP': '8.8.8.8', Authorization: 'Bearer key', traceparent: 'trace' })
    const { headers } = seen[0]!.request
    assert.equal(headers['x-real-ip'], '127.0.0.1')
    assert.deepEqual([headers['authorization'], headers['traceparent']], ['Bearer key', 'trace'])
  })

  test("the gate's id is passed on and logged; an id with special characters is replaced", async () => {
    await post('/settle', '{}', { 'X-Request-Id': 'gate-1' })
    assert.equal(seen[0]!.request.headers['x-request-id'], 'gate-1')
    await until('its line', () => readFileSync(join(directory, 'access.log'), 'utf8').includes('"request_id":"gate-1"'))
    await post('/settle', '{}', { 'X-Request-Id': 'with spaces and "quotes"' })
    assert.match(String(seen[1]!.request.headers['x-request-id']), /^[0-9a-f]{32}$/)
    for (const line of readFileSync(join(directory, 'access.log'), 'utf8').trim().split('\n')) JSON.parse(line)
  })

  test('nothing else is reachable from outside, and no body above the limit passes', async () => {
    for (const path of ['/metrics', '/health', '/readyz', '/livez', '/', '/verify/', '/settle/../metrics']) {
      assert.equal((await fetch(url + path)).status, 404, path)
    }
    assert.equal((await post('/verify', 'x'.repeat(129 * 1024))).status, 413)
    assert.equal(seen.length, 0)
  })

  test('waits longer for a replica than a settlement may take', () => {
    const text = deployed('nginx/nginx.conf')
    const seconds = (name: string): number => Number(new RegExp(`${name} (\\d+)s;`).exec(text)![1])
    assert.ok(seconds('proxy_read_timeout') > 30)
    // The gate's limit is `timeoutMs` of `httpFacilitator`.
    assert.ok(seconds('proxy_next_upstream_timeout') < 40)
  })
})
