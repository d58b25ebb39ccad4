/** A response that a framework pipes is completed, once, even if the client leaves midway. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { after, test } from 'node:test'
import { paymentGate as expressGate } from '@latchkey/x402/express'
import { paymentGate as fastifyGate } from '@latchkey/x402/fastify'
import { paymentGate as nodeGate } from '@latchkey/x402/node'
import type { Gate } from '@latchkey/x402/server'
import express from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import { http2Fetch, listenHttp2 } from '../support/http2.test.helper.js'
import { openMarket, until } from '../support/market.test.helper.js'
import { listen, type Shop } from '../support/shops.test.helper.js'
import { cents } from '../support/stall.test.helper.js'

const timeout = 60_000
const market = await openMarket({ after })
const directory = mkdtempSync(join(tmpdir(), 'latchkey-piped-'))
after(() => rmSync(directory, { recursive: true }))
const file = join(directory, 'file')
const whole = 'piece,'.repeat(100_000)
writeFileSync(file, whole)

const paths = ['/pipe', '/pipeline', '/file'] as const
const quiet = { onError: () => {} }

/** One run of a handler, which waits in the middle of its response. */
class Work {
  runs = 0
  release = (): void => {}
  readonly #released = new Promise<void>((resolve) => {
    this.release = resolve
  })

  body(): Readable {
    this.runs++
    return Readable.from(this.#pieces())
  }

  async *#pieces(): AsyncGenerator<string> {
    yield whole.slice(0, 10)
    await this.#released
    yield whole.slice(10, 20_000)
    yield whole.slice(20_000)
  }

  async waitForRelease(): Promise<void> {
    this.runs++
    await this.#released
  }
}

function send(path: string | undefined, response: ServerResponse, work: Work): void {
  if (path === '/pipe') work.body().pipe(response)
  else pipeline(work.body(), response, () => {})
}

type Open = (gate: Gate, work: Work) => Promise<Shop>
const openNode: Open = (gate, work) => listen(nodeGate(gate, ({ url }, response) => send(url, response, work), quiet))
const openHttp2: Open = (gate, work) =>
  listenHttp2(nodeGate(gate, ({ url }, response) => send(url, response, work), quiet) as never)

const openExpress: Open = async (gate, work) => {
  const app = express().set('env', 'test').use(expressGate(gate, quiet))
  app.post('/file', async (_, response) => {
    await work.waitForRelease()
    response.sendFile(file)
  })
  app.post('/{*path}', ({ url }, response) => send(url, response, work))
  return listen(app)
}

const openFastify =
  (http2: boolean): Open =>
  async (gate, work) => {
    const app = (http2 ? fastify({ http2 }) : fastify({ forceCloseConnections: true })) as unknown as FastifyInstance
    fastifyGate(app, gate, quiet)
    app.post('/pipe', async (_, reply) => reply.send(work.body()))
    app.post('/pipeline', (_, reply) => {
      reply.hijack()
      send('/pipeline', reply.raw, work)
    })
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
  }

async function leaveHttp1(url: string, headers: { [name: string]: string }, when: () => boolean): Promise<void> {
  const controller = new AbortController()
  const sent = fetch(url, { method: 'POST', headers, signal: controller.signal }).catch(() => {})
  await until(when)
  controller.abort()
  await sent
}

async function leaveHttp2(url: string, headers: { [name: string]: string }, when: () => boolean): Promise<void> {
  const { origin, pathname } = new URL(url)
  const session = connect(origin).on('error', () => {})
  const stream = session.request({ ...headers, ':method': 'POST', ':path': pathname }).on('error', () => {})
  stream.end()
  await until(when)
  session.destroy()
}

const sellers = [
  { name: 'node:http', open: openNode, send: fetch, leave: leaveHttp1, left: ['/file'] },
  { name: 'Express', open: openExpress, send: fetch, leave: leaveHttp1, left: [] },
  { name: 'Fastify', open: openFastify(false), send: fetch, leave: leaveHttp1, left: ['/file'] },
  { name: 'node:http2', open: openHttp2, send: http2Fetch(), leave: leaveHttp2, left: ['/file'] },
  { name: 'Fastify with HTTP/2', open: openFastify(true), send: http2Fetch(), leave: leaveHttp2, left: ['/file'] },
]

for (const { name, open, send, leave, left } of sellers) {
  for (const path of paths.filter((one) => !left.includes(one))) {
    test(`A9 ${name}: a client that leaves midway through POST ${path} gets the complete answer, made once`, {
      timeout,
    }, async (t) => {
      const work = new Work()
      const shop = await open(await market.gate({ routes: cents(market, ...paths.map((one) => `POST ${one}`)) }), work)
      t.after(() => shop.close())
      const url = `${shop.url}${path}`
      const before = await market.dollars()
      const header = await market.payment(await send(url, { method: 'POST' }))
      const headers = { 'PAYMENT-SIGNATURE': header }
      await leave(url, headers, () => work.runs === 1)
      const ask = async (): Promise<[number, string]> => {
        const response = await send(url, { method: 'POST', headers })
        return [response.status, await response.text()]
      }
      // Once the server answers another client, it knows that this one has left.
      assert.equal((await ask())[0], 503)
      work.release()
      let answer: [number, string] = [503, '']
      await until(async () => {
        answer = await ask()
        return answer[0] !== 503
      })
      assert.equal(answer[0], 200)
      assert.equal(answer[1], whole)
      assert.deepEqual([work.runs, (await market.dollars()) - before], [1, 10_000n])
    })
  }
}
