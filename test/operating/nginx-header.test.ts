/**
 * Tests the price header behind a real nginx: which headers fit its default buffer, and how the gate warns about
 * others.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { decodeRequired } from '@latchkey/x402/client'
import { paymentGate } from '@latchkey/x402/node'
import { atEnd, suiteScope, temporaryDirectory, until } from '../process/commands.test.helper.js'
import { freePort } from '../support/freePort.test.helper.js'
import { openMarket } from '../x402/support/market.test.helper.js'
import { listen } from '../x402/support/shops.test.helper.js'

const program = join(process.env['NGINX_BIN'] ?? '/usr/sbin', 'nginx')
const libraries = process.env['LATCHKEY_TEST_LIBRARIES']
const env = { PATH: process.env['PATH'], ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) }
const market = await openMarket({ after })

/** All other settings are nginx defaults. */
function configuration(port: number, shop: string, setting: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path temp/${name};`,
  )
  return `daemon off; pid nginx.pid; error_log error.log; events {}
http { access_log off; ${temporary.join(' ')}
  server { listen 127.0.0.1:${port}; location / { ${setting} proxy_pass ${shop}; } } }\n`
}

suite('nginx in front of a shop', { timeout: 180_000 }, () => {
  const scope = suiteScope()

  /** Opens a shop with this number of prices behind nginx with a setting. */
  async function open(prices: number, setting = '') {
    const warnings: string[] = []
    const accepts = Array.from({ length: prices }, (_, index) => ({
      network: market.chain.caip2,
      price: `$0.0${index + 1}`,
      payTo: market.seller,
    }))
    const gate = await market.gate({ routes: { 'GET /w': { accepts } }, onWarning: (text) => warnings.push(text) })
    const shop = await listen(paymentGate(gate, (_, response) => void response.end('goods')))
    atEnd(scope, shop.close)
    const [directory, port] = [temporaryDirectory(scope), await freePort()]
    mkdirSync(join(directory, 'temp'))
    writeFileSync(join(directory, 'nginx.conf'), configuration(port, shop.url, setting))
    const args = ['-p', directory, '-e', 'error.log', '-c', 'nginx.conf']
    const child: ChildProcess = spawn(program, args, { env, stdio: 'ignore' })
    atEnd(scope, async () => {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'close')
    })
    const url = `http://127.0.0.1:${port}/w`
    await until('nginx', async () => (await fetch(url).catch(() => undefined)) !== undefined)
    const response = await fetch(url)
    const header = response.headers.get('payment-required')
    return { status: response.status, header, warnings }
  }

  test('one and two prices fit the default buffer, and the gate does not warn', async () => {
    for (const prices of [1, 2]) {
      const { status, header, warnings } = await open(prices)
      assert.deepEqual([status, warnings], [402, []])
      assert.ok(decodeRequired(header!).accepts.length >= prices)
    }
  })

  test('five prices give a 502 with the default buffer, and the gate warns about them', async () => {
    const { status, warnings } = await open(5)
    assert.equal(status, 502)
    assert.equal(warnings.length, 1)
    assert.match(warnings[0]!, /GET \/w: the header PAYMENT-REQUIRED has \d+ bytes .*proxy_buffer_size/)
  })

  test('with the buffer that the warning names, five prices pass', async () => {
    const { status, header } = await open(5, 'proxy_buffer_size 16k; proxy_buffers 8 16k;')
    assert.equal(status, 402)
    assert.ok(decodeRequired(header!).accepts.length >= 5)
  })
})
