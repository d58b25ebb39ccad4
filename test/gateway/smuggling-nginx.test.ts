/** Tests that nginx reads every request as the gateway in front of it does. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { atEnd, temporaryDirectory, until } from '../process/commands.test.helper.js'
import { freePort } from '../support/freePort.test.helper.js'
import { assertSameReadings, decodedPath, recordingService, smuggle } from './smuggling.test.helper.js'

const program = join(process.env['NGINX_BIN'] ?? '/usr/sbin', 'nginx')
const libraries = process.env['LATCHKEY_TEST_LIBRARIES']
const env = { PATH: process.env['PATH'], ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) }

type Line = { id: string; method: string; target: string; path: string; status: string }

/** Starts nginx in front of a service. */
async function startNginx(t: TestContext, service: string) {
  const directory = temporaryDirectory(t)
  mkdirSync(join(directory, 'temp'))
  const port = await freePort()
  const format = [
    'id":"$http_x_test_id',
    'method":"$request_method',
    'target":"$request_uri',
    'path":"$uri',
    'status":"$status',
  ]
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path temp;`)
  writeFileSync(
    join(directory, 'nginx.conf'),
    `worker_processes 1;
pid nginx.pid;
events { worker_connections 1024; }
http {
  ${temporary.join('\n  ')}
  log_format requests escape=json '{"${format.join('","')}"}';
  access_log access.log requests;
  server {
    listen 127.0.0.1:${port};
    client_max_body_size 10m;
    location / {
      proxy_pass ${service};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
`,
  )
  const args = ['-p', directory, '-e', 'error.log', '-c', 'nginx.conf', '-g', 'daemon off;']
  const child = spawn(program, args, { env, stdio: 'ignore' })
  const exited = once(child, 'close')
  const stop = async (): Promise<void> => {
    child.kill('SIGQUIT')
    await exited
  }
  atEnd(t, () => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}`
  await until('nginx', async () => (await fetch(`${url}/free/start`).catch(() => undefined))?.status === 200)
  const lines = (): Line[] =>
    readFileSync(join(directory, 'access.log'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
  return { url, lines, stop }
}

test('nginx reads what the gateway forwards, and nothing else', { timeout: 1_800_000 }, async (t) => {
  const service = await recordingService(t)
  const nginx = await startNginx(t, service.url)
  service.seen.length = 0
  const forwarded = await smuggle(t, nginx.url)
  await nginx.stop()
  await assertSameReadings(forwarded.map(asGet), service)
  const known = new Map(forwarded.map((one) => [one.id, one]))
  const [, ...lines] = nginx.lines()
  for (const { id, method, target, path } of lines) {
    const sent = known.get(id)
    assert.ok(sent, `nginx has read a request that was not forwarded: ${method} ${target}`)
    assert.deepEqual([method, target], [asGet(sent).method, sent.target])
    assert.doesNotMatch(decodedPath(path), /paid|admin/)
  }
  assert.equal(new Set(lines.map(({ id }) => id)).size, lines.length)
})

/** Without the headers of the upgrade, which nginx does not pass on, the request is an ordinary one. */
function asGet<T extends { method: string }>(reading: T): T {
  return reading.method === 'UPGRADE' ? { ...reading, method: 'GET' } : reading
}
