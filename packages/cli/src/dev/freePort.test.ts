import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:net'
import { type TestContext, test } from 'node:test'
import { onFreePorts } from './freePort.js'

function listen(t: TestContext, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
    t.after(() => server.close())
  })
}

function portOf(server: Server): number {
  return (server.address() as { port: number }).port
}

/** Returns a port that was free a moment ago. */
async function usedBefore(t: TestContext): Promise<number> {
  const server = await listen(t, 0)
  const port = portOf(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('a port that another program takes after it was found free is replaced', async (t) => {
  const port = await usedBefore(t)
  const tried: number[] = []
  const server = await onFreePorts(false, async (portFor) => {
    tried.push(await portFor(port))
    if (tried.length === 1) await listen(t, port)
    // Errors of the parts have the same shape.
    return listen(t, tried.at(-1)!).catch((cause: unknown) => Promise.reject(new Error('no', { cause })))
  })
  assert.deepEqual(tried, [port, 0])
  assert.notEqual(portOf(server), port)
})

test('takes any port after several lost races, and does not repeat other failures', async (t) => {
  const port = await usedBefore(t)
  const tried: number[] = []
  const losing = onFreePorts(false, async (portFor) => {
    tried.push(await portFor(port))
    throw Object.assign(new Error('in use'), { code: 'EADDRINUSE' })
  })
  await assert.rejects(losing, /in use/)
  assert.deepEqual(tried, [port, port, 0])
  let calls = 0
  const failing = onFreePorts(false, () => {
    calls++
    return Promise.reject(new Error('another'))
  })
  await assert.rejects(failing, /another/)
  assert.equal(calls, 1)
  assert.equal(await onFreePorts(true, (portFor) => portFor(port)), 0)
})
