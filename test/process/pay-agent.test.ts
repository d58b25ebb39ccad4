/** Tests `latchkey pay` with an agent's token: the owner's limits hold, whatever the command's options. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { hostedLatchkey, latchkey, type Outcome } from '../support/latchkey.test.helper.js'
import { type Json, suiteScope, temporaryDirectory, until } from './commands.test.helper.js'

type Facts = { devnet: { url: string }; kmd: { dataDir: string; url: string }; seller: { url: string } }

suite('latchkey pay with the token of an agent', { timeout: 600_000 }, () => {
  const directory = temporaryDirectory(suiteScope())
  const stack = spawn(process.execPath, [latchkeyCommand, 'dev', '--ephemeral', '--any-port', '--json'])
  const exited = once(stack, 'close')
  let facts: Facts
  let seller: string

  before(async () => {
    let text = ''
    stack.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    await until('the stack', () => text.endsWith('\n'))
    facts = JSON.parse(text) as Facts
    const required = (await fetch(facts.seller.url)).headers.get('payment-required')!
    seller = (JSON.parse(Buffer.from(required, 'base64').toString()) as Json).accepts[0].payTo
  })
  after(async () => {
    stack.kill('SIGTERM')
    await exited
  })

  const chain = (): string[] => ['--network', 'local', '--node', facts.devnet.url, '--dollar', '31566704']
  const owner = (...args: string[]): Promise<Outcome> =>
    hostedLatchkey(args, { dataDir: facts.kmd.dataDir, home: directory, env: { KMD_PASSWORD_FILE: '/dev/null' } })

  let payments = 0
  /** Makes a distinct request with its own log, so none repeats an earlier one. */
  const pay = (args: readonly string[], env: { [name: string]: string } = {}): Promise<Outcome> => {
    const url = `${facts.seller.url}?city=${payments++}`
    const log = join(directory, `payments${payments}.jsonl`)
    return latchkey(['pay', url, '--yes', '--log', log, ...chain(), ...args], { home: directory, env })
  }

  async function agent(name: string, ...rules: string[]): Promise<string> {
    const file = join(directory, `${name}.token`)
    const made = await owner('agent', 'new', name, '-w', 'x402-buyer', ...rules, '--token-file', file, ...chain())
    assert.equal(made.code, 0, made.stderr)
    return file
  }

  async function earned(): Promise<number> {
    const holding = await fetch(`${facts.devnet.url}/v2/accounts/${seller}/assets/31566704`)
    return ((await holding.json()) as Json)['asset-holding'].amount
  }

  test('pays up to the limit, by file or environment, and the seller receives exactly that', async () => {
    const file = await agent('two-cents', '--limit', '$0.02/day')
    const before = await earned()
    const token = ['--agent-token-file', file, '-d', facts.kmd.dataDir]
    const first = await pay(token)
    assert.equal(first.code, 0, first.stderr)
    assert.deepEqual(Object.keys(JSON.parse(first.stdout)), ['report'])
    // For users that cannot read the data directory.
    const address = readFileSync(join(facts.kmd.dataDir, 'kmd.net'), 'utf8').trim()
    const second = await pay(['--daemon', address], { LATCHKEY_AGENT_TOKEN: readFileSync(file, 'utf8').trim() })
    assert.equal(second.code, 0, second.stderr)
    for (const more of [[], ['--max', '$1000']]) {
      const refused = await pay([...token, ...more])
      assert.deepEqual([refused.code, refused.stdout], [3, ''], refused.stderr)
      assert.match(
        refused.stderr,
        /This payment needs \$0\.01; \$0 is left of the limit \$0\.02\/day\. Enough is available at 20[0-9-]+ [0-9:]+ UTC\. The owner can raise the limit: latchkey agent limit NAME/,
      )
    }
    assert.equal((await earned()) - before, 20_000)
    assert.equal((await owner('agent', 'revoke', 'two-cents', '--yes')).code, 0)
    const ended = await pay(token)
    assert.equal(ended.code, 3)
    assert.match(ended.stderr, /the daemon does not accept this agent's token|this agent has ended/)
  })

  test('waits for the owner: pays if approved, does not if denied, and claims the URL', async () => {
    const file = await agent('asks', '--limit', '$1/day', '--ask-above', '$0.005')
    const token = ['--agent-token-file', file, '-d', facts.kmd.dataDir]
    const open = async (): Promise<Json> =>
      until('the approval', async () => JSON.parse((await owner('approvals', 'list', '--json')).stdout).approvals[0])
    const before = await earned()
    const approved = pay(token)
    const { id, claimedUrl, agentName, rule } = await open()
    assert.deepEqual(
      [claimedUrl, agentName, rule],
      [`${facts.seller.url}?city=${payments - 1}`, 'asks', 'ask above $0.005'],
    )
    assert.equal((await owner('approvals', 'approve', id)).code, 0)
    const paid = await approved
    assert.equal(paid.code, 0, paid.stderr)
    assert.match(paid.stderr, new RegExp(`waiting for the owner, who can run: latchkey approvals approve ${id}\n`))
    assert.equal((await earned()) - before, 10_000)
    const denied = pay(token)
    assert.equal((await owner('approvals', 'deny', (await open()).id)).code, 0)
    const refused = await denied
    assert.deepEqual([refused.code, refused.stdout], [3, ''], refused.stderr)
    assert.match(refused.stderr, /The owner denied this payment\./)
    assert.equal((await earned()) - before, 10_000)
  })

  test("a payee outside the list is not paid, and the owner's token is not an agent's", async () => {
    const other = `${'A'.repeat(52)}Y5HFKQ`
    const file = await agent('elsewhere', '--limit', '$1/day', '--pay-to', other)
    const before = await earned()
    const refused = await pay(['--agent-token-file', file, '-d', facts.kmd.dataDir])
    assert.equal(refused.code, 3)
    assert.match(refused.stderr, new RegExp(`${seller} is not among the addresses that this agent may pay`))
    const owners = await pay(['--agent-token-file', join(facts.kmd.dataDir, 'kmd.token'), '-d', facts.kmd.dataDir])
    assert.notEqual(owners.code, 0)
    assert.equal(await earned(), before)
  })
})
