/** Tests `latchkey multisig ...` in scripts. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import * as algosdk from 'algosdk'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { hostedLatchkey, type Outcome } from '../support/latchkey.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { openTerminal } from '../support/terminal.test.helper.js'
import { type Kmd, startHosted, suiteScope } from './commands.test.helper.js'

suite('latchkey multisig', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  const strangers = [algosdk.generateAccount(), algosdk.generateAccount()].map(({ addr }) => addr.toString())
  let kmd: Kmd
  let members: string[]
  let address: string

  before(async () => {
    kmd = await startHosted(scope)
    const own = await kmd.generate(await kmd.unlock(await kmd.create('shared', ''), ''))
    members = [strangers[0]!, own, strangers[1]!]
    address = algosdk.multisigAddress({ version: 1, threshold: 2, addrs: members }).toString()
  })

  const run = (args: string): Promise<Outcome> =>
    hostedLatchkey([...args.split(' '), '--no-password'], { dataDir: kmd.dataDir })

  function failed({ code, stdout, stderr }: Outcome, expected: number, message: RegExp): void {
    assert.deepEqual([code, stdout], [expected, ''], stderr)
    assert.match(stderr, message)
  }

  test('creates the same account as algosdk', async () => {
    const created = await run(`multisig new --threshold 2 ${members.join(' ')}`)
    assert.deepEqual(created, { code: 0, stdout: `${address}\n`, stderr: '' })
    failed(await run(`multisig new -t 2 ${members.join(' ')}`), 3, new RegExp(`${address} is already in shared`))
    const others = await run(`multisig new -t 2 ${members.toReversed().join(' ')} --json`)
    const outcome = JSON.parse(others.stdout)
    assert.notEqual(outcome.address, address)
    assert.deepEqual([outcome.version, outcome.threshold, outcome.members], [1, 2, members.toReversed()])
    const twice = await run(`multisig new -t 1 ${members[0]} ${members[0]}`)
    assert.equal(twice.code, 0)
    assert.match(twice.stderr, /^warning: a member is listed more than once/)
  })

  test('reports invalid members and thresholds', async () => {
    failed(await run('multisig new -t 1'), 2, /ADDRESS is missing/)
    failed(await run(`multisig new ${members.join(' ')}`), 2, /--threshold is missing/)
    for (const threshold of ['0', '4', 'two']) {
      failed(
        await run(`multisig new -t ${threshold} ${members.join(' ')}`),
        2,
        /--threshold must be a number from 1 to 3/,
      )
    }
    failed(await run(`multisig new -t 1 ${members[0]!.toLowerCase()}`), 2, /is not an address/)
    failed(await run(`multisig new -t 1 ${Array(256).fill(members[0]).join(' ')}`), 2, /at most 255 members/)
  })

  test('lists and shows accounts, and which keys are in the wallet', async () => {
    const listed = await run('multisig list')
    assert.match(listed.stdout, new RegExp(`^${address}  2 of 3  1 here$`, 'm'))
    const shown = await run(`multisig show ${address}`)
    assert.equal(
      shown.stdout,
      `version    1\nthreshold  2 of 3\nmember  ${members[0]}\nmember  ${members[1]}  in this wallet\nmember  ${members[2]}\n`,
    )
    assert.match(shown.stderr, new RegExp(`latchkey multisig new --threshold 2 ${members.join(' ')}\n$`))
    const account = {
      address,
      version: 1,
      threshold: 2,
      members: members.map((member, index) => ({ address: member, isHere: index === 1 })),
    }
    assert.deepEqual(JSON.parse((await run(`multisig show ${address} --json`)).stdout), account)
    const { multisigs } = JSON.parse((await run('multisig list --json')).stdout)
    assert.equal(multisigs.length, 3)
    assert.ok(multisigs.some((one: { address: string }) => one.address === address))
  })

  test('deletes an account and prints how to create it again', { skip: missingProgram('python3') }, async (t) => {
    failed(
      await run(`multisig delete ${address}`),
      2,
      /confirmation is required, but stdin is not a terminal; give --yes/,
    )
    const command = [process.execPath, latchkeyCommand, 'multisig', 'delete', address, '--no-password']
    for (const [reply, code] of [
      ['', 1],
      ['\u0003', 130],
      ['y', 0],
    ] as const) {
      const env = { PATH: process.env['PATH'], HOME: '/nonexistent', KMD_DATA_DIR: kmd.dataDir }
      const terminal = openTerminal(t, command, { env })
      await terminal.sees(`Delete ${address} from shared? [y/N] `)
      terminal.type(`${reply}\r`)
      assert.deepEqual(await terminal.ended, { code, isEchoOn: true, isByLine: true })
    }
    for (const command of ['show', 'delete --yes']) {
      const message =
        /the wallet shared has no multisig account .*; list the multisig accounts with latchkey multisig list/
      failed(await run(`multisig ${command} ${address}`), 3, message)
    }
    const [other] = JSON.parse((await run('multisig list --json')).stdout).multisigs
    const { again } = JSON.parse((await run(`multisig delete ${other.address} --yes --json`)).stdout)
    const created = await run(again.replace(/^latchkey /, ''))
    assert.equal(created.stdout.trim(), other.address)
    assert.equal((await run('key list')).stdout.trim(), members[1])
  })

  test('names the next step for an empty list', async (t) => {
    const { dataDir } = await startHosted(t)
    await hostedLatchkey(['wallet', 'new', 'w', '--no-password'], { dataDir })
    const { code, stdout, stderr } = await hostedLatchkey(['multisig', 'list', '--no-password'], { dataDir })
    assert.deepEqual([code, stdout], [0, ''])
    assert.match(stderr, /The wallet w has no multisig account yet\. Create one: latchkey multisig new/)
  })
})
