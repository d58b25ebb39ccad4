/** Tests claims while connections break and the server is killed. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { PostgresClaims } from '@latchkey/x402/postgres'
import { cutProxy } from '../support/cutProxy.test.helper.js'
import { lostResponses } from '../support/lostResponses.test.helper.js'
import { idOf } from '../support/paymentIds.test.helper.js'
import { emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'
import { severalProcesses } from '../support/severalProcesses.test.helper.js'
import { unnumbered } from '../support/unnumbered.test.helper.js'

const server = await PostgresServer.start({ after })

severalProcesses('PostgresClaims', () => emptyDatabase(server))

lostResponses('PostgresClaims', async (t) => {
  const address = await emptyDatabase(server)
  const proxy = await cutProxy(t, server)
  const direct = await PostgresClaims.open({ address })
  const url = new URL(address)
  url.port = String(proxy.port)
  const store = await PostgresClaims.open({ address: url.href, retryMs: 20_000 })
  t.after(async () => {
    await store.close()
    await direct.close()
  })
  return { store, direct, proxy }
})

test('PostgresClaims: acknowledged claims survive a server kill, and all others are errors', async (t) => {
  const store = await PostgresClaims.open({ address: await emptyDatabase(server), retryMs: 60_000 })
  t.after(() => store.close())
  const lease = { binding: 'b', proof: 'secret', leaseMs: 600_000, network: 'n', round: 1n, forgetRound: 9n } as const
  const answer = { status: 200, headers: [], body: new Uint8Array([7]) }
  const claim = (count: number, owner: string) => store.claim(idOf(count), { ...lease, owner, nowMs: Date.now() })
  await claim(0, 'first')
  await store.hold(idOf(0), 'first', answer)
  let next = 1
  let isOver = false
  const claimed: number[] = []
  const work = async (): Promise<void> => {
    while (!isOver) {
      const count = next++
      const { type } = await claim(count, `owner-${count}`)
      assert.equal(type, 'new', 'also if its response was lost')
      claimed.push(count)
    }
  }
  const workers = Array.from({ length: 8 }, work)
  while (claimed.length < 50) await new Promise((resolve) => setTimeout(resolve, 5))
  await server.kill()
  await server.restart()
  const before = claimed.length
  while (claimed.length < before + 50) await new Promise((resolve) => setTimeout(resolve, 5))
  isOver = true
  await Promise.all(workers)
  for (const count of claimed) assert.equal((await claim(count, 'other')).type, 'busy')
  assert.deepEqual(await unnumbered(claim(0, 'later')), { type: 'held', answer })
})

test('PostgresClaims: a claim that cannot be made is an error that names the server but no password', async (t) => {
  const store = await PostgresClaims.open({ address: await emptyDatabase(server), retryMs: 100 })
  await server.kill()
  t.after(() => server.restart())
  const lease = {
    owner: 'a',
    binding: 'b',
    proof: 'none',
    leaseMs: 1,
    network: 'n',
    round: 1n,
    forgetRound: 9n,
  } as const
  await assert.rejects(
    () => store.claim(idOf(1), { ...lease, nowMs: 0 }),
    (error: Error & { code?: string }) =>
      error.code === 'store_failed' &&
      error.message.includes(String(server.port)) &&
      !error.message.includes(server.password),
  )
  await store.close()
})
