/** Tests `latchkey approvals ...`: payments that the owner decides, with an agent that waits. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { before, suite, test } from 'node:test'
import { type AgentClient, KmdClientError } from '@latchkey/kmd-client'
import type * as algosdk from 'algosdk'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import type { Outcome } from '../support/latchkey.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { AgentPayments, asAgent, bytesOf, makeAgent } from './agentFixture.test.helper.js'
import { atEnd, type Json, suiteScope, until } from './commands.test.helper.js'
import { hostile, unsafeIn } from './hostile.test.helper.js'
import { Money } from './money.test.helper.js'

const cent = 10_000n
const approvalWaitMs = 60_000

suite('latchkey approvals', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  let money: Money
  let pay: AgentPayments
  let client: AgentClient
  let bob: string

  before(async () => {
    money = await Money.start(scope)
    pay = new AgentPayments(money, await money.params())
    bob = money.accounts.bob.address
    const { token } = await makeAgent(money, 'asker', ['--limit', '$5/day', '--ask-above', '$0.25'])
    client = await asAgent(scope, money, token)
  })

  const approvals = (...args: string[]): Promise<Outcome> => money.run(['approvals', ...args])

  /** Requests the signature, and returns the id of the approval that it needs. */
  async function ask(transaction: algosdk.Transaction, claim: { url?: string; description?: string } = {}) {
    const error: unknown = await client.sign(bytesOf(transaction), claim).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    assert.ok(error instanceof KmdClientError)
    assert.equal(error.code, 'agent_approval_required')
    assert.match(error.approvalId!, /^[a-z0-9]{16}$/)
    return error.approvalId!
  }

  async function outcome(transaction: algosdk.Transaction): Promise<string> {
    return client.sign(bytesOf(transaction)).then(
      () => 'signed',
      (error: KmdClientError) => error.code,
    )
  }

  test('lists the request with its transaction, approves it, and the waiting agent signs once', async () => {
    const empty = await approvals('list')
    assert.deepEqual([empty.code, empty.stdout], [0, ''])
    assert.match(empty.stderr, /^No payments are waiting for approval\.\n$/)
    const payment = pay.dollars(60n * cent, bob)
    const claim = { url: 'https://shop.example/report', description: 'a report' }
    let asked = ''
    const signing = client.sign(bytesOf(payment), {
      ...claim,
      approvalWaitMs,
      onApproval: (id) => {
        asked = id
      },
    })
    const id = await until('the approval', () => asked || undefined)
    const listed = await approvals('list')
    const lead = `asker wants to pay $0.60 to ${bob} for https://shop.example/report (not checked)`
    assert.deepEqual(listed.stdout.split('\n').slice(0, 2), [lead, `  ${id}  waiting for you`])
    assert.match(listed.stdout, new RegExp(`Sends 0\\.6 USDC \\(asset \\d+\\) to ${bob}`))
    assert.match(
      listed.stdout,
      new RegExp(`${bob}[\\s\\S]*Reason: A payment above \\$0\\.25 needs the owner's approval`),
    )
    assert.match(listed.stdout, / {2}Needs \$0\.60; the rule ask above \$0\.25 leaves \$0\.25\.\n/)
    assert.match(listed.stdout, /URL, as claimed by the agent: "https:\/\/shop\.example\/report" \(not checked\)\n/)
    assert.match(listed.stdout, /Description by the agent: "a report" \(not checked\)\n {2}Expires in \d+ min\.\n$/)
    const approved = await approvals('approve', id)
    assert.equal(approved.code, 0)
    assert.match(
      approved.stdout,
      new RegExp(
        `^asker wants to pay \\$0\\.60 .*\n {2}${id} {2}approved, \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d UTC\n`,
      ),
    )
    assert.match(approved.stderr, /^Approved\. The agent can sign this transaction now\.\n$/)
    await signing
    assert.equal((await approvals('list')).stdout, '')
    const all = JSON.parse((await approvals('list', '--all', '--json')).stdout).approvals
    assert.deepEqual(
      all.map((one: Json) => [one.id, one.state, one.transactionId, one.asked, one.unit, one.claimedUrl]),
      [[id, 'used', payment.txID(), '600000', 'USDC', claim.url]],
    )
    assert.ok(Buffer.from(all[0].transaction, 'base64').equals(Buffer.from(bytesOf(payment))))
    const again = await approvals('deny', id)
    assert.deepEqual([again.code, again.stdout], [3, ''])
    assert.match(again.stderr, /this approval was already decided: it is used/)
    // The approval was for that payment only.
    await ask(pay.dollars(60n * cent, bob))
  })

  test('a denied request is refused permanently, and an approval does not lift a limit', async () => {
    const payment = pay.dollars(30n * cent, bob)
    const claim = { url: 'https://shop.example/denied' }
    const id = await ask(payment, claim)
    const denied = await approvals('deny', id, '--json')
    assert.equal(JSON.parse(denied.stdout).approval.state, 'denied')
    assert.equal(await outcome(payment), 'agent_approval_denied')
    assert.equal((await approvals('approve', id)).code, 3)
    assert.equal(await outcome(payment), 'agent_approval_denied')
    assert.equal(await outcome(pay.dollars(501n * cent, bob)), 'agent_limit_exceeded')
    // The next attempt for the same payee and URL asks nothing, and names no approval to wait for.
    const again: unknown = await client.sign(bytesOf(pay.dollars(29n * cent, bob)), claim).catch((error) => error)
    assert.ok(again instanceof KmdClientError)
    assert.deepEqual([again.code, again.approvalId], ['agent_approval_denied', undefined])
    assert.match(again.message, /denied a payment to this payee for the same URL.* until \d{4}-/)
    await ask(pay.dollars(29n * cent, bob), { url: 'https://shop.example/another' })
  })

  test('deny --pause also pauses the agent', async () => {
    const { token } = await makeAgent(money, 'eager', ['--limit', '$5/day', '--ask-above', '$0.25'])
    const eager = await asAgent(scope, money, token)
    const asked: unknown = await eager.sign(bytesOf(pay.dollars(30n * cent, bob))).catch((error) => error)
    assert.ok(asked instanceof KmdClientError)
    const denied = await approvals('deny', asked.approvalId!, '--pause')
    assert.equal(denied.code, 0)
    assert.match(denied.stderr, /the agent is paused: it signs nothing until you run latchkey agent resume eager/)
    const refused: unknown = await eager.sign(bytesOf(pay.dollars(1n * cent, bob))).catch((error) => error)
    assert.ok(refused instanceof KmdClientError)
    assert.equal(refused.code, 'agent_paused')
  })

  test('an approval expires with its transaction, even if it was approved', async () => {
    const { firstValid } = await money.params()
    const short = { firstValid, lastValid: firstValid }
    const [left, approved] = [pay.dollars(31n * cent, bob, short), pay.dollars(32n * cent, bob, short)]
    const [leftId, approvedId] = [await ask(left), await ask(approved)]
    assert.equal((await approvals('approve', approvedId)).code, 0)
    const stateOf = async (id: string): Promise<string> =>
      JSON.parse((await approvals('list', '--all', '--json')).stdout).approvals.find((one: Json) => one.id === id).state
    await until(
      'the end of both',
      async () => (await stateOf(leftId)) === 'expired' && (await stateOf(approvedId)) === 'expired',
    )
    const late = await approvals('approve', leftId)
    assert.deepEqual([late.code, late.stdout], [3, ''])
    assert.match(late.stderr, /this approval has expired/)
    for (const payment of [left, approved]) assert.notEqual(await outcome(payment), 'signed')
  })

  test('rejects an invalid id', async () => {
    for (const command of ['approve', 'deny']) {
      const unknown = await approvals(command, 'aaaaaaaaaaaaaaaa')
      assert.deepEqual([unknown.code, unknown.stdout], [3, ''])
      assert.match(unknown.stderr, /approval not found; list the approvals with latchkey approvals list --all/)
    }
  })

  test('watch asks on a terminal: yes signs, no denies, later keeps it open, and earlier keystrokes do nothing', {
    skip: missingProgram('python3'),
  }, async (t) => {
    for (const { id } of JSON.parse((await approvals('list', '--json')).stdout).approvals) await approvals('deny', id)
    // A denial also refuses the next request for the same URL.
    const claims = [1, 2, 3, 4].map((number) => ({ url: `https://shop.example/watched/${number}` }))
    const terminal = money.open(t, ['approvals', 'watch'])
    await terminal.sees('Waiting for payments that need your approval. Stop with Ctrl-C.\n')
    const question = 'Approve this payment? [y]es, [n]o, deny and [p]ause the agent, [l]ater: '
    // Typed impatiently, with nothing to approve yet: these keys must not answer a later question.
    terminal.type('y\ry\ry')
    await terminal.sees('y')
    const [first, second, third] = [33n, 34n, 35n].map((cents) => pay.dollars(cents * cent, bob))
    const signing = client.sign(bytesOf(first!), { approvalWaitMs, ...claims[0] })
    const shown = await terminal.sees(question)
    assert.match(shown, /asker wants to pay \$0\.33 to [\s\S]*waiting for you\n[\s\S]*Needs \$0\.33;/)
    const open = JSON.parse((await approvals('list', '--json')).stdout).approvals
    assert.deepEqual([open.length, open[0].state], [1, 'open'])
    terminal.type('y\r')
    await terminal.sees('Approved. The agent can sign this transaction now.')
    await signing
    await ask(second!, claims[1])
    await terminal.sees(question)
    terminal.type('n\r')
    await terminal.sees('Denied. The agent cannot sign this transaction')
    assert.equal(await outcome(second!), 'agent_approval_denied')
    const id = await ask(third!, claims[2])
    await terminal.sees(question)
    terminal.type('\r')
    await terminal.sees(`Left open. To decide later: latchkey approvals approve ${id}, or deny`)
    // A request that is decided elsewhere while the question is open.
    const fourth = await ask(pay.dollars(36n * cent, bob), claims[3])
    await terminal.sees(question)
    assert.equal((await approvals('deny', fourth)).code, 0)
    terminal.type('y\r')
    await terminal.sees('Nothing was done: this approval was already decided: it is denied')
    terminal.type('\u0003')
    assert.deepEqual(await terminal.ended, { code: 130, isEchoOn: true, isByLine: true })
  })

  test("watch --json prints a line for each change, and a caller's claims stay text", async (t) => {
    const env = { ...money.environment }
    const child = spawn(process.execPath, [latchkeyCommand, 'approvals', 'watch', '--json'], { env, detached: true })
    atEnd(t, () => child.kill('SIGKILL'))
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    const lines = (): Json[] =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
    await until('what is open at the start', () => lines().some(({ state }) => state === 'open'))
    assert.ok(
      lines().every(({ state }) => state === 'open'),
      'nothing that was decided before',
    )
    const payment = pay.dollars(40n * cent, bob)
    const id = await ask(payment, { url: `https://${hostile}`, description: hostile })
    const statesOf = (): string[] => lines().flatMap((one) => (one.id === id ? [one.state] : []))
    await until('the question', () => statesOf().length === 1)
    await approvals('approve', id)
    await until('the approval', () => statesOf().length === 2)
    assert.equal(await outcome(payment), 'signed')
    await until('the signature', () => statesOf().length === 3)
    assert.deepEqual(statesOf(), ['open', 'approved', 'used'])
    assert.deepEqual(unsafeIn(text), [])
    const listed = await approvals('list', '--all')
    assert.match(listed.stdout, /Description by the agent: "PWN/)
    assert.deepEqual(unsafeIn(listed.stdout), [])
    assert.doesNotMatch(listed.stdout, /^latchkey: FAKE/m)
  })

  test('watch without a terminal, and with a daemon that stops', async (t) => {
    const id = await ask(pay.dollars(41n * cent, bob), { url: 'https://shop.example/unwatched' })
    const env = { ...money.environment }
    const child = spawn(process.execPath, [latchkeyCommand, 'approvals', 'watch'], { env, detached: true })
    atEnd(t, () => child.kill('SIGKILL'))
    const exited = new Promise<number | null>((resolve) => child.on('close', resolve))
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      said += piece
    })
    const advice = `latchkey approvals approve ${id}, or latchkey approvals deny ${id}\n`
    await until('the advice', () => said.includes(advice))
    await money.kmd.stop()
    assert.equal(await exited, 5, said)
  })
})
