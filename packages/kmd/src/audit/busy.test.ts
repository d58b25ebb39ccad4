/** The daemon keeps working while a large log is verified or searched. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fixture, limit, openAgents, pay } from '../agents/AgentFixture.test.helper.js'

const records = 20_000

async function fill({ audit }: Fixture): Promise<void> {
  const event = { event: 'wallet_unlocked', actor: { type: 'owner' }, wallet: 'w'.repeat(32) } as const
  await audit.change(() => {
    for (let number = 0; number < records; number++) audit.append(event)
  })
}

/**
 * Whether a signature is made before the work is done. On a slow disk a signature may take longer than the work, which
 * is then repeated.
 */
async function signsDuring(fixture: Fixture, work: () => Promise<unknown>): Promise<boolean> {
  const { token } = await fixture.create([limit('total', 1_000_000n)])
  let isSigned = false
  for (let attempt = 0; attempt < 100 && !isSigned; attempt++) {
    let isDone = false
    const working = work().then(() => {
      isDone = true
    })
    await fixture.sign(token, pay(1n))
    isSigned = !isDone
    await working
  }
  return isSigned
}

test('agents sign while the log is verified, which checks the records present at its start', async (t) => {
  const fixture = openAgents(t)
  await fill(fixture)
  assert.ok(await signsDuring(fixture, () => fixture.audit.verify()), 'no signature was made before the end')
  const { problem, head } = await fixture.audit.verify()
  assert.equal(problem, undefined)
  assert.equal(head.number, fixture.audit.head().number)
})

test('agents sign while the log is searched', async (t) => {
  const fixture = openAgents(t)
  await fill(fixture)
  const search = (): Promise<unknown> => fixture.audit.search({ text: 'nowhere', count: 10 })
  assert.ok(await signsDuring(fixture, search), 'no signature was made before the end')
})

test('a verification interrupted by the end of the daemon says nothing about the log', async (t) => {
  const fixture = openAgents(t)
  await fill(fixture)
  const verifying = fixture.audit.verify()
  await Promise.all([
    assert.rejects(verifying, { code: 'state_not_written', message: 'the daemon is stopping' }),
    fixture.close(),
  ])
})
