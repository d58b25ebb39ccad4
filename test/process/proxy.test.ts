/** Tests `latchkey proxy`: a program that cannot pay stays within the limits of an agent. */
import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { hostedLatchkey, startHostedLatchkey } from '../support/latchkey.test.helper.js'
import { atEnd, type Json, suiteScope, temporaryDirectory, until } from './commands.test.helper.js'

type Facts = { devnet: { url: string }; kmd: { dataDir: string }; seller: { url: string } }

const noCurl = spawnSync('curl', ['--version']).status === 0 ? false : 'curl is not installed'

suite('latchkey proxy', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  const directory = temporaryDirectory(scope)
  let facts: Facts

  before(async () => {
    const stack = startHostedLatchkey(scope, ['dev', '--ephemeral', '--any-port', '--json'], { env: process.env })
    await until('the stack', () => stack.stdout().endsWith('\n'))
    facts = JSON.parse(stack.stdout()) as Facts
  })

  /** Creates an agent with a limit, and starts a proxy that pays with it. */
  async function startProxy(t: TestContext, name: string) {
    const chain = ['--network', 'local', '--node', facts.devnet.url, '--dollar', '31566704']
    const file = join(directory, `${name}.token`)
    const rules = ['--limit', '$0.02/day', '--token-file', file]
    const env = { KMD_PASSWORD_FILE: '/dev/null' }
    const { dataDir } = facts.kmd
    const made = await hostedLatchkey(['agent', 'new', name, '-w', 'x402-buyer', ...rules, ...chain], {
      dataDir,
      home: directory,
      env,
    })
    assert.equal(made.code, 0, made.stderr)
    const { origin } = new URL(facts.seller.url)
    const agent = ['--agent-token-file', file, '-d', dataDir]
    const given = ['proxy', '--to', origin, ...agent, '--port', '0', '--json', ...chain]
    const proxy = spawn(process.execPath, [latchkeyCommand, ...given], {
      env: { PATH: process.env['PATH'] ?? '', HOME: directory },
    })
    atEnd(t, () => proxy.kill('SIGKILL'))
    let [stdout, stderr] = ['', '']
    proxy.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    proxy.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    const ended = once(proxy, 'close')
    await until('its first line', () => stdout.includes('\n') || proxy.exitCode !== null)
    assert.notEqual(stdout, '', stderr)
    const { url } = JSON.parse(stdout) as { url: string }
    const token = readFileSync(file, 'utf8').trim()
    return { url, token, output: () => `${stdout}${stderr}`, stop: () => proxy.kill('SIGTERM'), ended }
  }

  test('pays for a program up to the limit of the agent, and refuses beyond it', async (t) => {
    const { url, token, output, stop, ended } = await startProxy(t, 'shopper')
    const statuses: number[] = []
    let refusal: Json
    for (let city = 0; city < 3; city++) {
      const response = await fetch(`${url}/weather?city=${city}`)
      statuses.push(response.status)
      refusal = await response.json()
    }
    assert.deepEqual(statuses, [200, 200, 402])
    assert.match(JSON.stringify(refusal), /\$0 is left of the limit \$0\.02\/day/)
    assert.equal(output().includes(token), false)
    stop()
    assert.deepEqual(await ended, [0, null])
  })

  test('curl stays within the limit of the agent, and is refused beyond it', { skip: noCurl }, async (t) => {
    const { url } = await startProxy(t, 'curl')
    const run = async (path: string): Promise<{ status: string; body: string }> => {
      const { stdout } = await promisify(execFile)('curl', ['-s', '-w', '\n%{http_code}', `${url}${path}`], {
        env: { PATH: process.env['PATH'] ?? '' },
      })
      const [body = '', status = ''] = stdout.split(/\n(?=\d+$)/)
      return { body, status }
    }
    for (const city of ['rome', 'oslo']) {
      const { status, body } = await run(`/weather?city=${city}`)
      assert.equal(status, '200', body)
      assert.equal(typeof JSON.parse(body), 'object')
    }
    const { status, body } = await run('/weather?city=bern')
    assert.equal(status, '402')
    assert.match(body, /\$0 is left of the limit \$0\.02\/day/)
  })

  test('names what is missing', async () => {
    assert.match((await hostedLatchkey(['proxy'])).stderr, /--to is missing/)
    assert.match((await hostedLatchkey(['proxy', '--to', 'ftp://x'])).stderr, /--to cannot be/)
    assert.match(
      (await hostedLatchkey(['proxy', '--to', 'https://x'], { home: directory })).stderr,
      /no agent to pay with/,
    )
  })
})
