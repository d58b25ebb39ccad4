/** Sells Python's `http.server`, which knows nothing of payments, with one command to published buyers. */
import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { Network } from '@latchkey/algorand'
import { loadScript } from '../docs/Reference.test.helper.js'
import { atEnd, temporaryDirectory, until } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { type Buys, ours, type PaidResponse } from '../x402/interop.test.helper.js'
import { cent, keyOf, openTrade, possessions } from '../x402/trade.test.helper.js'
import { allBuyers, startGateway } from './gateway.test.helper.js'

const { genesisHash } = Network.testnet
type Obtained = { readonly python?: string; readonly problem?: string }
const { obtainPython } = await loadScript<{ obtainPython: (name: string) => Obtained }>('obtain/python.mjs')
const hasPython = spawnSync('python3', ['--version']).status === 0
const skip = hasPython ? false : 'python3 is not installed'

type PythonServer = { readonly url: string; readonly log: () => string }

/** Starts a server that prints its port, and returns its address and the lines of its log. */
async function serveWithPython(t: TestContext, args: readonly string[]): Promise<PythonServer> {
  const child = spawn('python3', ['-u', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  atEnd(t, () => child.kill('SIGKILL'))
  let [output, log] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const port = await until('Python', () => /port (\d+)\s/.exec(output)?.[1])
  return { url: `http://127.0.0.1:${port}`, log: () => log }
}

/** Starts `python3 -m http.server` in a directory with a file. */
function startPython(t: TestContext): Promise<PythonServer> {
  const directory = temporaryDirectory(t)
  writeFileSync(join(directory, 'goods.txt'), 'goods of Python')
  return serveWithPython(t, ['-m', 'http.server', '0', '--bind', '127.0.0.1', '--directory', directory])
}

/** The buyer with httpx of a published package, with the packages of a requirements file. */
function httpxWith(python: string, schemes: string): Buys {
  return async ({ devnet, buyer }, url) => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      PYTHONDONTWRITEBYTECODE: '1',
      SCHEMES: schemes,
      EXAMPLES: join(root, 'examples', 'python'),
      ALGOD_TESTNET_URL: devnet.url,
      AVM_PRIVATE_KEY: keyOf(buyer),
    }
    const program = join(root, 'test', 'x402', 'python', 'buyer_httpx.py')
    const { stdout } = await promisify(execFile)(python, [program, url], { env, timeout: 60_000 })
    return JSON.parse(stdout) as PaidResponse
  }
}

test("Python's http.server is sold to published buyers", { skip, timeout: 300_000 }, async (t) => {
  t.mock.method(console, 'log', () => {})
  const trade = await openTrade(t, { genesisHash })
  const service = await startPython(t)
  const facilitator = await ours.facilitators['ours']!(t, trade)
  const seller = ['--price', 'GET /*=$0.01', '--pay-to', String(trade.seller.addr), '--facilitator', facilitator]
  const gateway = await startGateway(t, trade, ['--upstream', service.url, ...seller])
  const url = `${gateway.url}/goods.txt`
  assert.equal((await fetch(url)).status, 402)
  assert.equal(service.log(), '')
  let paid = 0
  const buy = async (name: string, buys: Buys): Promise<void> => {
    const { status, body, receipt } = await buys(trade, `${url}?${paid}`)
    assert.deepEqual([status, body], [200, 'goods of Python'], name)
    assert.ok(receipt, name)
    paid++
  }
  for (const [name, buys] of Object.entries(allBuyers())) await t.test(name, () => buy(name, buys))
  for (const [requirements, schemes] of [
    ['requirements-avm.txt', 'schemes_avm'] as const,
    ['requirements-official.txt', 'schemes_official'] as const,
  ]) {
    const { python = '', problem } = obtainPython(requirements)
    const name = `httpx with ${requirements}`
    await t.test(name, { skip: problem ?? false }, () => buy(name, httpxWith(python, schemes)))
  }
  const { seller: after } = await possessions(trade)
  assert.equal(after[1], cent * BigInt(paid))
  const logged = (): number => service.log().split('"GET /goods.txt').length - 1
  await until('the lines of the service', () => logged() >= paid)
  assert.equal(logged(), paid)

  await t.test('what the service does not have is not charged', async () => {
    const { status } = await ours.buyers['ours']!(trade, `${gateway.url}/missing.txt`)
    assert.equal(status, 404)
    assert.equal((await possessions(trade)).seller[1], after[1])
  })
})

/** A service with HTTP/1.1 whose handlers leave bodies unread, as many handlers on `http.server` do. */
const careless = `
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    do_GET = do_POST = answer
    def log_message(self, form, *args):
        print(self.command, self.path, file=sys.stderr, flush=True)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("port", server.server_port, flush=True)
server.serve_forever()
`

test('a body that the service leaves unread is not another request', { skip, timeout: 120_000 }, async (t) => {
  const trade = await openTrade(t, { genesisHash })
  const { url, log } = await serveWithPython(t, ['-c', careless])
  const facilitator = await ours.facilitators['ours']!(t, trade)
  const seller = ['--price', 'GET /paid/*=$0.01', '--pay-to', String(trade.seller.addr), '--facilitator', facilitator]
  const upstream = ['--upstream', url, '--free', '/free/*']
  const gateway = await startGateway(t, trade, [...upstream, ...seller])
  const body = 'GET /paid/goods HTTP/1.1\r\nHost: x\r\n\r\n'
  for (const chunked of [false, true]) {
    const sent = chunked ? { body: new Blob([body]).stream(), duplex: 'half' } : { body }
    const response = await fetch(`${gateway.url}/free/post`, { method: 'POST', ...(sent as { body: string }) })
    assert.equal(await response.text(), 'ok')
    assert.equal(await (await fetch(`${gateway.url}/free/next`)).text(), 'ok')
  }
  await until('the requests', () => log().split('\n').length > 4)
  assert.deepEqual(
    log()
      .split('\n')
      .filter((line) => line !== ''),
    ['POST /free/post', 'GET /free/next', 'POST /free/post', 'GET /free/next'],
  )
})
