/**
 * A state database restored from a backup suspends its agents. Tests what the owner sees, and how the agents sign
 * again.
 */
import assert from 'node:assert/strict'
import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Address, Transaction } from '@latchkey/algorand'
import { hostedLatchkey, type Outcome } from '../support/latchkey.test.helper.js'
import { type Kmd, startHosted, temporaryDirectory, until } from './commands.test.helper.js'

const database = 'latchkey_state.db'
const password = 'right'
const gh = Buffer.alloc(32, 7)
const network = gh.toString('base64')

const suspended = "agents are suspended: the daemon's state database was rolled back or damaged"

let notes = 0

async function sign(kmd: Kmd, { address, token }: { address: string; token: string }, amount: bigint) {
  const snd = Address.decode(address)
  const note = Buffer.from(`payment ${notes++}`)
  const fields = { type: 'pay', snd, rcv: snd, amt: amount, fee: 1_000n, fv: 1n, lv: 1_000n, gh, note } as const
  const transaction = Buffer.from(Transaction.encode(fields)).toString('base64')
  return kmd.call('POST', '/latchkey/v1/agent/sign', { transaction }, { token })
}

/** Creates a wallet with an agent that may spend a total of 1 ALGO. */
async function setUp(kmd: Kmd) {
  const walletId = await kmd.create('savings', password)
  const address = await kmd.generate(await kmd.unlock(walletId, password))
  const rules = {
    networks: [network],
    limits: [{ per: 'total', network, type: 'amount', asset_id: '0', amount: '1000000' }],
    payees: { allow_all: true },
  }
  const body = { name: 'shopper', wallet_id: walletId, wallet_password: password, addresses: [address], rules }
  const { token } = await kmd.ok('POST', '/latchkey/v1/agents', body)
  return { walletId, address, token: token as string }
}

/** Starts a daemon on a database that is older than the log it wrote. */
async function rolledBack(t: TestContext) {
  const first = await startHosted(t)
  const { dataDir } = first
  const agent = await setUp(first)
  await first.stop()
  const backup = join(temporaryDirectory(t), database)
  copyFileSync(join(dataDir, database), backup)
  const second = await startHosted(t, { dataDir })
  assert.equal((await sign(second, agent, 900_000n)).status, 200)
  await second.stop()
  for (const end of ['-wal', '-shm']) rmSync(join(dataDir, `${database}${end}`), { force: true })
  copyFileSync(backup, join(dataDir, database))
  return { kmd: await startHosted(t, { dataDir }), agent, dataDir }
}

test('agents are suspended after a restore, and sign again once the owner has confirmed with the password', async (t) => {
  const { kmd, agent, dataDir } = await rolledBack(t)
  const passwords = temporaryDirectory(t)
  for (const name of [password, 'wrong']) writeFileSync(join(passwords, name), name, { mode: 0o600 })
  const run = (...args: string[]): Promise<Outcome> => hostedLatchkey([...args, '-d', dataDir])

  const refused = await sign(kmd, agent, 900_000n)
  assert.deepEqual([refused.status, refused.json.message], [403, suspended])
  // Reported at the startHosted, whether or not an agent makes a request.
  await until('the line in the log', () =>
    kmd.log().includes('so all agents are suspended. To let them sign again: latchkey agent confirm'),
  )
  assert.match((await run('agent', 'list')).stdout, /^shopper {2}suspended {2}savings/m)
  assert.match(
    (await run('agent', 'show', 'shopper')).stdout,
    /\n {2}Suspended: the audit log was altered: it ends with record /,
  )
  const doctor = await run('doctor')
  assert.match(doctor.stdout + doctor.stderr, /agent shopper: suspended, because the state database was rolled back/)

  const wrong = await run('agent', 'confirm', '--yes', '--password-file', join(passwords, 'wrong'))
  assert.notEqual(wrong.code, 0)
  assert.equal((await sign(kmd, agent, 1n)).status, 403)
  const other = await run(
    'agent',
    'confirm',
    '--yes',
    '--wallet',
    'other',
    '--password-file',
    join(passwords, password),
  )
  assert.match(other.stderr, /the wallet other has no suspended agent/)

  const confirmed = await run('agent', 'confirm', '--yes', '--password-file', join(passwords, password))
  assert.equal(confirmed.code, 0, confirmed.stderr)
  assert.match(confirmed.stderr, /shopper is suspended: .*\n {2}1 ALGO\/total: 1 ALGO left, 0 ALGO used\n/)
  assert.match(confirmed.stderr, /Confirmed: shopper\./)
  assert.equal((await sign(kmd, agent, 900_000n)).status, 200)

  const records = JSON.parse((await run('audit', 'search', '--json')).stdout).records
  const events = records.map(({ record }: { record: { event: string } }) => record.event)
  for (const event of ['log_damaged', 'agent_suspended', 'agent_confirmed']) assert.ok(events.includes(event), event)
  const nothing = await run('agent', 'confirm', '--yes')
  assert.match(nothing.stderr, /No agent is suspended/)
})

test('the API token alone cannot confirm, and an agent cannot confirm itself', async (t) => {
  const { kmd, agent } = await rolledBack(t)
  const path = '/latchkey/v1/agents/confirm'
  const body = { wallet_id: agent.walletId, wallet_password: 'guess' }
  assert.equal((await kmd.call('POST', path, body)).status, 400)
  assert.equal((await kmd.call('POST', '/latchkey/v1/agents/resume', { agent: 'shopper' })).status, 400)
  const own = await kmd.call('POST', path, { ...body, wallet_password: password }, { token: agent.token })
  assert.equal(own.status, 403)
  assert.equal((await sign(kmd, agent, 1n)).status, 403)
  const { agents } = await kmd.ok('POST', path, { ...body, wallet_password: password })
  assert.deepEqual(
    agents.map(({ name, state }: { name: string; state: string }) => [name, state]),
    [['shopper', 'active']],
  )
})
