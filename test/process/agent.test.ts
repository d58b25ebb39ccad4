/** Tests `latchkey agent ...`: what the owner grants, and that the limits hold. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { type AgentClient, KmdClientError } from '@latchkey/kmd-client'
import * as algosdk from 'algosdk'
import { type Outcome, shell } from '../support/latchkey.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { AgentPayments, asAgent, bytesOf, makeAgent } from './agentFixture.test.helper.js'
import { type Json, suiteScope, until } from './commands.test.helper.js'
import { Money, newAddress, password } from './money.test.helper.js'

const cent = 10_000n

suite('latchkey agent', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  let money: Money
  let pay: AgentPayments

  before(async () => {
    money = await Money.start(scope)
    pay = new AgentPayments(money, await money.params())
  })

  const agent = (...args: string[]): Promise<Outcome> => money.run(['agent', ...args])

  function failed({ code, stdout, stderr }: Outcome, expected: number, message: RegExp): void {
    assert.deepEqual([code, stdout], [expected, ''], stderr)
    assert.match(stderr, message)
  }

  /** Returns the code of a refused signature, or `signed`. */
  async function outcome(client: AgentClient, transaction: algosdk.Transaction): Promise<string> {
    try {
      const signed = await client.sign(bytesOf(transaction))
      assert.equal(algosdk.decodeSignedTransaction(signed).txn.txID(), transaction.txID())
      return 'signed'
    } catch (error) {
      assert.ok(error instanceof KmdClientError)
      return error.code
    }
  }

  test('enforces each of many rules at once, and writes the token only to its file', async (t) => {
    const { alice, bob, carol } = money.accounts
    const file = join(money.home, 'all.token')
    const line = `latchkey agent new NAME --wallet spending --key ${alice.address} --limit '$5/day' --limit '2 ALGO/total' --each '$0.50' \
--pay-to ${bob.address} --ask-above '$0.25' --expires 30d --token-file ${file} --json`
    const env = { ...money.environment, KMD_PASSWORD_FILE: join(money.home, 'password') }
    const before = Date.now()
    const made = await shell(line, { home: money.home, env })
    assert.deepEqual([made.code, made.stderr], [0, ''])
    const shown = JSON.parse(made.stdout)
    assert.deepEqual(Object.keys(shown), ['agent', 'tokenFile'])
    assert.equal(shown.tokenFile, file)
    assert.deepEqual([shown.agent.name, shown.agent.state, shown.agent.addresses], ['NAME', 'active', [alice.address]])
    assert.deepEqual(
      shown.agent.budget.map((use: { text: string; left: string }) => [use.text, use.left]),
      [
        ['$5/day', '5000000'],
        ['2 ALGO/total', '2000000'],
        ['each $0.50', '500000'],
      ],
    )
    const days = (Date.parse(shown.agent.expiresAt) - before) / 86_400_000
    assert.ok(days >= 30 && days < 30.1, `${days}`)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const token = readFileSync(file, 'utf8').trim()
    assert.match(token, /^lka_/)
    assert.equal(made.stdout.includes(token), false)

    const client = await asAgent(t, money, token)
    assert.equal(await outcome(client, pay.dollars(25n * cent, bob.address)), 'signed')
    assert.equal(await outcome(client, pay.dollars(25n * cent + 1n, bob.address)), 'agent_approval_required')
    assert.equal(await outcome(client, pay.dollars(50n * cent + 1n, bob.address)), 'agent_limit_exceeded')
    assert.equal(await outcome(client, pay.dollars(1n, carol.address)), 'agent_payee_unknown')
    assert.equal(await outcome(client, pay.algos(1_999_000n, bob.address)), 'signed')
    assert.equal(await outcome(client, pay.algos(0n, bob.address)), 'agent_limit_exceeded')
    for (let count = 1; count < 20; count++) {
      assert.equal(await outcome(client, pay.dollars(25n * cent, bob.address)), 'signed')
    }
    await assert.rejects(client.sign(bytesOf(pay.dollars(1n, bob.address))), (error: KmdClientError) => {
      assert.match(
        error.message,
        /This payment needs \$0\.000001; \$0 is left of the limit \$5\/day\. Enough is available at /,
      )
      assert.deepEqual([error.refusal?.rule, error.refusal?.unit, error.refusal?.left], ['$5/day', 'USDC', 0n])
      return true
    })
    const text = await agent('show', 'NAME')
    assert.match(text.stdout, /^NAME {2}active until 20[0-9-]+ [0-9:]+ UTC {2}id \S+\n/)
    assert.match(
      text.stdout,
      /\n {2}\$5\/day: \$0 left, \$5 used, more at 20[0-9-]+ [0-9:]+ UTC\n {2}2 ALGO\/total: 0 ALGO left, 2 ALGO used\n {2}each \$0\.50\n/,
    )
    assert.match(
      text.stdout,
      new RegExp(`\n {2}May pay: ${bob.address}\\.\n {2}Asks you: Before a payment above \\$0\\.25\\.\n`),
    )
    assert.match(text.stdout, /last used: 20[0-9-]+ [0-9:]+ UTC\n/)
  })

  test('asks for the password on a terminal, and shows the token once', {
    skip: missingProgram('python3'),
  }, async (t) => {
    const terminal = await money.unlocked(t, [
      'agent',
      'new',
      'typed',
      '--limit',
      '1 ALGO/hour',
      '--limit',
      '3 payments/day',
    ])
    const shown = await terminal.sees('The token (shown only once):\n')
    assert.match(shown, /typed {2}active {2}id \S+\n/)
    assert.match(
      shown,
      /1 ALGO\/hour: 1 ALGO left, 0 ALGO used\n {2}3 payments\/day: 3 left, 0 used\n {2}May pay: Anyone\./,
    )
    assert.deepEqual(await terminal.ended, { code: 0, isEchoOn: true, isByLine: true })
    const [token] = /lka_\S+/.exec(terminal.screen())!
    const client = await asAgent(t, money, token)
    assert.equal((await client.self()).agent.name, 'typed')
    const listed = await agent('list')
    assert.match(listed.stdout, /^typed +active +spending +\S{12}$/m)
    assert.equal([...(await agent('show', 'typed', '--json')).stdout.matchAll(/lka_/g)].length, 0)
  })

  test('paused, resumed, rotated, revoked: each token works as long as it should', {
    skip: missingProgram('python3'),
  }, async (t) => {
    const { agent: made, token, file } = await makeAgent(money, 'states', ['--limit', '1 ALGO/day'])
    const { bob } = money.accounts
    const first = await asAgent(t, money, token)
    failed(await agent('pause', 'states'), 0, /^Paused states\. To let it sign again: latchkey agent resume states\n$/)
    assert.equal(await outcome(first, pay.algos(1n, bob.address)), 'agent_paused')
    assert.match((await agent('list')).stdout, /^states +paused /m)
    const wrong = join(money.home, 'wrong')
    writeFileSync(wrong, 'wrong\n')
    failed(await agent('resume', 'states', '--password-file', wrong), 6, /wrong password; nothing was done/)
    const resumed = await agent('resume', made.id, '--json')
    assert.equal(JSON.parse(resumed.stdout).agent.state, 'active')
    assert.equal(await outcome(first, pay.algos(1n, bob.address)), 'signed')

    failed(
      await agent('rotate', 'states', '--token-file', file),
      3,
      /states\.token already exists and was not overwritten/,
    )
    assert.equal(await outcome(first, pay.algos(1n, bob.address)), 'signed')
    const rotated = JSON.parse((await agent('rotate', 'states', '--json')).stdout)
    assert.equal(rotated.agent.id, made.id)
    assert.equal(rotated.agent.budget[0].used, '2002')
    assert.equal(await outcome(first, pay.algos(1n, bob.address)), 'invalid_token')
    const second = await asAgent(t, money, rotated.token)
    assert.equal(await outcome(second, pay.algos(1n, bob.address)), 'signed')

    failed(await agent('revoke', 'states'), 2, /confirmation is required, but stdin is not a terminal; give --yes/)
    const terminal = money.open(t, ['agent', 'revoke', 'states'])
    await terminal.sees('Permanently revoke the agent states? [y/N] ')
    terminal.type('n\r')
    assert.equal((await terminal.ended).code, 1)
    assert.equal(await outcome(second, pay.algos(1n, bob.address)), 'signed')
    failed(await agent('revoke', 'states', '-y'), 0, /^Revoked states\.\n$/)
    assert.notEqual(await outcome(second, pay.algos(1n, bob.address)), 'signed')
    failed(await agent('resume', made.id), 3, /the agent has ended: .*; create another with latchkey agent new/)
    assert.doesNotMatch((await agent('list')).stdout, /^states /m)
    assert.match((await agent('list', '--all')).stdout, /^states +revoked /m)
  })

  test('replaces, adds and removes limits, and past spending still counts', async (t) => {
    const { bob, carol } = money.accounts
    const { token } = await makeAgent(money, 'changing', ['--limit', '$1/day', '--pay-to', bob.address])
    const client = await asAgent(t, money, token)
    assert.equal(await outcome(client, pay.dollars(60n * cent, bob.address)), 'signed')
    assert.equal(await outcome(client, pay.dollars(60n * cent, bob.address)), 'agent_limit_exceeded')
    failed(await agent('limit', 'changing'), 2, /no change given; give an option such as --limit/)
    const raised = await agent(
      'limit',
      'changing',
      '--limit',
      '$1.20/day',
      '--limit',
      '5 payments/hour',
      '--pay-to',
      carol.address,
    )
    assert.equal(raised.code, 0, raised.stderr)
    assert.match(raised.stdout, /\$1\.20\/day: \$0\.60 left, \$0\.60 used, .*\n {2}5 payments\/hour: 4 left, 1 used/)
    assert.match(raised.stdout, new RegExp(`May pay: ${bob.address}\\. ${carol.address}\\.\n`))
    assert.equal(await outcome(client, pay.dollars(60n * cent, carol.address)), 'signed')
    assert.equal(await outcome(client, pay.dollars(1n, carol.address)), 'agent_limit_exceeded')
    failed(
      await agent('limit', 'changing', '--no-limit', '$1/day'),
      2,
      /the agent has no limit "\$1\/day"; its limits: \$1\.20\/day, 5 payments\/hour/,
    )
    failed(await agent('limit', 'changing', '--no-limit', '$1.20/day'), 3, /at least one limit on an amount/)
    const args = [
      '--no-limit',
      '$1.2/day',
      '--limit',
      '$9/total',
      '--remove',
      bob.address,
      '--ask-over-limit',
      '--expires',
      'never',
    ]
    const changed = JSON.parse((await agent('limit', 'changing', ...args, '--json')).stdout).agent
    assert.deepEqual(
      changed.budget.map(({ text, used }: { text: string; used: string }) => [text, used]),
      [
        ['5 payments/hour', '2'],
        ['$9/total', '1200000'],
      ],
    )
    assert.deepEqual(changed.rules.payees, { allow: [carol.address], deny: [] })
    assert.deepEqual([changed.expiresAt, changed.rules.ask.overLimit], [null, true])
    assert.equal(await outcome(client, pay.dollars(1n, bob.address)), 'agent_payee_unknown')
    assert.equal(await outcome(client, pay.dollars(8_000_000n, carol.address)), 'agent_approval_required')
  })

  test('agent test names the rule for each transaction, and counts nothing', async () => {
    const { bob, carol } = money.accounts
    await makeAgent(money, 'tested', ['--limit', '$1/day', '--ask-above', '$0.50', '--deny', carol.address])
    const file = (name: string, ...transactions: algosdk.Transaction[]): string => {
      const path = join(money.home, name)
      writeFileSync(path, Buffer.concat(transactions.map(bytesOf)))
      return path
    }
    const allowed = pay.dollars(50n * cent, bob.address)
    const one = await agent('test', 'tested', file('allowed.txn', allowed))
    assert.deepEqual([one.code, one.stdout], [0, `${allowed.txID()}  allowed by the rule $1/day\n`], one.stderr)
    const beyond = await agent('test', 'tested', file('beyond.txn', pay.dollars(101n * cent, bob.address)))
    assert.equal(beyond.code, 3)
    assert.match(beyond.stdout, /^\S{52} {2}refused by the rule \$1\/day: asked \$1\.01, left \$1\n$/)
    const asks = await agent('test', 'tested', file('asks.txn', pay.dollars(60n * cent, bob.address)))
    assert.match(asks.stdout, /^\S{52} {2}would ask you by the rule ask above \$0\.50: asked \$0\.60, left \$0\.50\n$/)
    const denied = await agent('test', 'tested', file('denied.txn', pay.dollars(1n, carol.address)), '--json')
    const [{ decision, refusal }] = JSON.parse(denied.stdout).decisions
    assert.deepEqual([denied.code, decision, refusal.code, refusal.asked], [3, 'refused', 'agent_payee_denied', null])

    const group = [pay.dollars(50n * cent, bob.address), pay.algos(2_000n, bob.address, bob.address)]
    algosdk.assignGroupID(group)
    const together = await agent('test', 'tested', file('group.txns', ...group))
    assert.equal(together.code, 0, together.stderr)
    assert.match(
      together.stdout,
      /allowed by the rule \$1\/day\n\S{52} {2}is sent by another account, which signs it\n$/,
    )
    const strangers = await agent('test', 'tested', file('strangers.txn', group[1]!))
    assert.match(strangers.stdout, /refused by the rule own keys\n$/)
    assert.equal(strangers.code, 3)
    const both = await agent('test', 'tested', file('both.txns', allowed, pay.dollars(101n * cent, bob.address)))
    assert.equal(both.code, 3, 'one of them is refused')
    failed(await agent('test', 'tested', file('empty')), 3, /not a transaction or a group/)
    const { budget } = JSON.parse((await agent('show', 'tested', '--json')).stdout).agent
    assert.equal(budget[0].used, '0')
  })

  test('refuses invalid grants with a message, before or in the daemon, and leaves no file', async () => {
    const { alice, bob } = money.accounts
    const token = join(money.home, 'never.token')
    const make = (...rules: string[]) => agent('new', 'never', '-w', 'spending', '--token-file', token, ...rules)
    failed(await make(), 2, /an agent needs a spending limit; give --limit '\$5\/day'/)
    failed(await make('--limit', '5 payments/day'), 2, /needs a spending limit/)
    failed(await make('--limit', '$5'), 2, /--limit: "\$5" has no period/)
    failed(await make('--limit', '$5/day', '--each', 'nothing'), 2, /--each: /)
    failed(await make('--limit', '$5/day', '--pay-to', 'BOB'), 2, /--pay-to BOB is not an address/)
    failed(await make('--limit', '$5/day', '--expires', 'soon'), 2, /--expires soon is not a time/)
    failed(await make('--limit', '$5/day', '--expires', '2020-01-01'), 2, /--expires 2020-01-01 is not a time/)
    failed(await make('--limit', '$5/day', '--max-fee', '$1'), 2, /--max-fee/)
    failed(await make('--limit', '$5/day', '--app', 'x'), 2, /--app x is not an id/)
    failed(await make('--each', '$5'), 3, /does not limit the total/)
    failed(
      await make('--limit', '$5/day', '--key', bob.address),
      3,
      /key not found in the wallet; list the keys with latchkey key list/,
    )
    failed(await make('--limit', '$5/day', '--limit', '$6/day'), 3, /rules\.limits\[1\] restricts the same/)
    failed(await agent('new', 'x', '-w', 'others', '--limit', '$5/day'), 2, /others has 2 keys; .*--key/)
    failed(
      await agent('new', '\u001b[2J', '-w', 'spending', '--limit', '$5/day'),
      3,
      /name must have 1 to 64 visible characters/,
    )
    const elsewhere = join(money.home, 'missing', 'x.token')
    failed(
      await agent('new', 'x', '-w', 'spending', '--limit', '$5/day', '--token-file', elsewhere),
      3,
      /cannot be written/,
    )
    failed(await agent('show', 'nobody'), 3, /agent not found; list the agents with latchkey agent list --all/)
    assert.equal(existsSync(token), false)
    await makeAgent(money, 'taken', ['--limit', '$5/day', '-k', alice.address])
    failed(
      await agent('new', 'Taken', '-w', 'spending', '--limit', '$5/day'),
      3,
      /an agent with this name already exists; choose another/,
    )
    const gone = { KMD_DATA_DIR: join(money.home, 'nothing') }
    failed(await money.run(['agent', 'list'], gone), 5, /no key daemon is running in/)
    assert.doesNotMatch((await agent('list', '--all')).stdout, /never/)
  })

  test('a token that cannot be written is lost: a new agent is revoked, and an existing one stays', async (t) => {
    const full = (args: string) =>
      // A write beyond the maximum file size fails like a write on a full disk.
      shell(`ulimit -f 0; latchkey agent ${args}`, {
        home: money.home,
        env: { ...money.environment, KMD_PASSWORD_FILE: join(money.home, 'password') },
      })
    const file = join(money.home, 'full.token')
    failed(
      await full(`new full -w spending --limit '$1/day' --token-file ${file}`),
      3,
      /agent full was revoked\.\n.*cannot be written/,
    )
    assert.equal(existsSync(file), false)
    assert.match((await agent('list', '--all')).stdout, /^full +revoked /m)
    const kept = await makeAgent(money, 'kept', ['--limit', '$1/day'])
    failed(
      await full(`rotate kept --token-file ${file}`),
      3,
      /the old one no longer works. To get another: latchkey agent rotate/,
    )
    const old = await asAgent(t, money, kept.token)
    assert.equal(await outcome(old, pay.dollars(1n, newAddress())), 'invalid_token')
    assert.match((await agent('list')).stdout, /^kept +active /m)
    assert.equal((await agent('rotate', 'kept', '--token-file', file)).code, 0)
    assert.equal(
      await outcome(await asAgent(t, money, readFileSync(file, 'utf8').trim()), pay.dollars(1n, newAddress())),
      'signed',
    )
  })

  test('after an agent ends, by time or by the wallet, neither its token nor an open handle can sign', async (t) => {
    const handle = await money.createWallet('deleted', [])
    const key = await money.kmd.generate(handle)
    const wallets = await money.kmd.wallets()
    const walletId = (name: string): string => wallets.find((wallet) => wallet.name === name)!.id
    // Late enough for a slow machine to create the agent and open the handle before.
    const end = new Date(Date.now() + 15_000).toISOString().replace(/\.\d+Z/, 'Z')
    const make = async (name: string, wallet: string, ...more: string[]) => {
      const file = join(money.home, `${name}.token`)
      const made = await agent('new', name, '-w', wallet, '--limit', '1 ALGO/day', ...more, '--token-file', file)
      assert.equal(made.code, 0, made.stderr)
      const token = readFileSync(file, 'utf8').trim()
      const opened = await call(token, '/v1/wallet/init', { wallet_id: walletId(wallet), wallet_password: '' })
      assert.equal(opened.status, 200)
      return { token, handle: opened.json.wallet_handle_token as string }
    }
    const call = async (token: string, path: string, body: object) => {
      const headers = { 'X-KMD-API-Token': token }
      const response = await fetch(`http://${money.kmd.address}${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      return { status: response.status, json: (await response.json()) as Json }
    }
    const sign = ({ token, handle: opened }: { token: string; handle: string }, sender: string) => {
      const transaction = Buffer.from(bytesOf(pay.algos(1n, newAddress(), sender))).toString('base64')
      const body = { wallet_handle_token: opened, wallet_password: '', transaction }
      return call(token, '/v1/transaction/sign', body)
    }
    const { alice } = money.accounts
    const brief = await make('brief', 'spending', '--expires', end)
    const doomed = await make('doomed', 'deleted')
    assert.equal((await sign(brief, alice.address)).status, 200)
    assert.equal((await sign(doomed, key)).status, 200)
    assert.equal((await money.run(['wallet', 'delete', 'deleted', '--yes'])).code, 0)
    await until('the end', async () => (await sign(brief, alice.address)).status !== 200)
    for (const [ended, sender] of [
      [brief, alice.address],
      [doomed, key],
    ] as const) {
      const { status, json } = await sign(ended, sender)
      assert.ok(status === 401 || status === 403, JSON.stringify(json))
      assert.notEqual(
        await outcome(await asAgent(t, money, ended.token), pay.algos(1n, newAddress(), sender)),
        'signed',
      )
    }
    const listed = (await agent('list', '--all')).stdout
    assert.match(listed, /^brief +expired /m)
    assert.match(listed, /^doomed +ended: its wallet was deleted /m)
  })

  test('deleting the key ends its agents', async (t) => {
    const handle = await money.createWallet('short-lived', [])
    const key = await money.kmd.generate(handle)
    const file = join(money.home, 'short.token')
    const made = await agent('new', 'short', '-w', 'short-lived', '--limit', '1 ALGO/day', '--token-file', file)
    assert.equal(made.code, 0, made.stderr)
    const client = await asAgent(t, money, readFileSync(file, 'utf8').trim())
    const payment = pay.algos(1n, newAddress(), key)
    assert.equal(await outcome(client, payment), 'signed')
    await money.kmd.ok('DELETE', '/v1/key', { wallet_handle_token: handle, address: key, wallet_password: password })
    assert.equal(await outcome(client, payment), 'agent_ended')
    assert.match((await agent('list', '--all')).stdout, /^short +ended: its key was deleted /m)
  })
})
