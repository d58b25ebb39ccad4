/** Tests `latchkey dev` against web pages of another origin: DNS rebinding and cross-origin requests. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { before, suite, test } from 'node:test'
import { atEnd, suiteScope, until } from '../../process/commands.test.helper.js'
import { latchkeyCommand } from '../../support/devnet.test.helper.js'
import { rawRequest } from '../support/rawRequest.test.helper.js'

type Facts = {
  devnet: { url: string }
  kmd: { url: string; token: string }
  facilitator: { url: string }
  seller: { url: string }
  environment: { [name: string]: string }
}

suite('the stack of latchkey dev', { timeout: 240_000 }, () => {
  const scope = suiteScope()
  let facts: Facts

  before(async () => {
    const child = spawn(process.execPath, [latchkeyCommand, 'dev', '--ephemeral', '--any-port', '--json'])
    atEnd(scope, async () => {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'close')
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    await until('the stack', () => output.endsWith('\n'))
    facts = JSON.parse(output) as Facts
  })

  /** Returns what a page must not reach: a base URL, and requests to it. */
  const endpoints = (): [string, string, string][] => {
    const seller = new URL(facts.seller.url).origin
    return [
      [seller, 'GET', '/env'],
      [seller, 'HEAD', '/env'],
      [seller, 'GET', '/weather'],
      [seller, 'GET', '/'],
      [facts.facilitator.url, 'GET', '/supported'],
      [facts.facilitator.url, 'POST', '/settle'],
      [facts.facilitator.url, 'GET', '/health'],
      [facts.kmd.url, 'GET', '/versions'],
      [facts.kmd.url, 'GET', '/v1/wallets'],
      [facts.kmd.url, 'GET', '/console/'],
      [facts.devnet.url, 'POST', '/devnet/fund'],
    ]
  }

  test('M no endpoint serves the host name of another machine, as used in DNS rebinding', async () => {
    for (const [url, method, target] of endpoints()) {
      for (const host of [
        'evil.example',
        'evil.example:80',
        '127.0.0.1.evil.example',
        'localhost.evil.example',
        '10.0.0.1',
      ]) {
        const { status, body } = await rawRequest(url, target, {
          method,
          host,
          headers: { 'X-KMD-API-Token': facts.kmd.token, ...(method === 'POST' ? { 'Content-Length': '0' } : {}) },
        })
        assert.equal(status, 403, `${method} ${target} with Host ${host}: ${status} ${body}`)
        assert.ok(!body.includes(facts.environment['DISPENSER_MNEMONIC']!))
      }
    }
  })

  test('M a page of another origin cannot read the environment', async () => {
    const { origin } = new URL(facts.seller.url)
    const ask = (headers: { [name: string]: string }) => rawRequest(origin, '/env', { headers })
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { Origin: 'http://localhost.evil.example' },
      { 'Sec-Fetch-Site': 'cross-site' },
    ]) {
      const { status, head, body } = await ask(headers)
      assert.equal(status, 403, JSON.stringify(headers))
      assert.doesNotMatch(head, /access-control-allow-origin/i)
      assert.doesNotMatch(body, /export/)
    }
    for (const method of ['POST', 'PUT', 'DELETE']) {
      assert.equal((await rawRequest(origin, '/env', { method, headers: { 'Content-Length': '0' } })).status, 405)
    }
    for (const headers of [{}, { Origin: 'http://localhost:5173' }, { 'Sec-Fetch-Site': 'none' }]) {
      const { status, head, body } = await ask(headers)
      assert.equal(status, 200)
      assert.match(body, /^export ALGOD_SERVER=/m)
      assert.match(head, /cache-control: no-store/i)
    }
  })
})
