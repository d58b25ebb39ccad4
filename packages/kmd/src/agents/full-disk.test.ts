/** The state file at its limits: a full disk, and a log that ends in the middle of a write. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { fileName } from '../state/openState.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { limit, openAgents, pay } from './AgentFixture.test.helper.js'

/** Signs until the file accepts no more. Prints the token and the number of signatures. */
const program = `
  import { limit, openAgents, pay } from ${JSON.stringify(new URL('./AgentFixture.test.helper.js', import.meta.url).href)}
  const { create, sign } = openAgents({ after() {} }, process.argv[1])
  const { token } = await create([limit('total', 1_000_000n)])
  let signatures = 0
  let failure
  while (failure === undefined && signatures < 100_000) {
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => sign(token, pay(10n))))
    signatures += results.filter(({ status }) => status === 'fulfilled').length
    failure = results.find(({ status }) => status === 'rejected')?.reason.code
  }
  console.log(JSON.stringify({ token, signatures, failure }))
  process.exit()`

test('on a full disk nothing is signed, nothing is lost, and the daemon recovers', async (t) => {
  const directory = temporaryDirectory(t)
  // In units of 512 bytes, for each file: a write beyond the limit fails, as on a full disk.
  const shell = 'ulimit -f 800; exec "$0" --input-type=module -e "$1" "$2"'
  const { stdout } = await promisify(execFile)('sh', ['-c', shell, process.execPath, program, directory])
  const { token, signatures, failure } = JSON.parse(stdout) as { token: string; signatures: number; failure: string }
  assert.equal(failure, 'state_not_written')
  assert.ok(signatures > 50, `${signatures} signatures`)
  const { agents, sign, database } = openAgents(t, directory)
  const { id } = agents.list()[0]!
  const [use] = agents.budget(id)
  assert.equal(use!.used, BigInt(signatures) * 10n, 'what was not signed is not counted')
  const records = database
    .statement("SELECT COUNT(*) AS count FROM audit WHERE record LIKE '%transaction_signed%'")
    .get()
  assert.equal((records as { count: number }).count, signatures)
  await sign(token, pay(use!.left))
  await assert.rejects(sign(token, pay(1n)), { code: 'agent_limit_exceeded' })
})

test('a log truncated at any point leaves complete payments, each with its record', async (t) => {
  const { create, sign, directory } = openAgents(t)
  const { token } = await create([limit('total', 1_000n)])
  for (let number = 0; number < 12; number++) await Promise.all([1n, 2n].map((amount) => sign(token, pay(amount))))
  const counts = new Set<number>()
  for (let bytes = 60_000; bytes < 400_000; bytes += 17_777) {
    const copy = temporaryDirectory(t)
    cpSync(directory, copy, { recursive: true })
    truncateSync(join(copy, `${fileName}-wal`), bytes)
    const torn = openAgents(t, copy)
    const [agent] = torn.agents.list()
    if (agent === undefined) continue
    const count = (sql: string): number => (torn.database.statement(sql).get() as { count: number }).count
    const reservations = count('SELECT COUNT(*) AS count FROM reservations')
    const like = "SELECT COUNT(*) AS count FROM audit WHERE record LIKE '%transaction_signed%'"
    assert.equal(count(like), reservations)
    assert.equal(
      torn.agents.budget(agent.id)[0]!.used,
      BigInt((reservations / 2) * 3),
      'half of a transaction is there',
    )
    counts.add(reservations)
    await torn.close()
  }
  assert.ok(counts.size > 2, `the log was cut at ${counts.size} places only`)
})
