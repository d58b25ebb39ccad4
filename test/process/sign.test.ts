/** Tests the command `latchkey sign`: description, confirmation and signature, checked with algosdk and a ledger. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import * as algosdk from 'algosdk'
import { type DevnetFacts, get, latchkeyCommand, startDevnet, submit } from '../support/devnet.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { assertSigned, isSignature } from '../support/signatures.test.helper.js'
import { type Kmd, start, suiteScope, temporaryDirectory } from './commands.test.helper.js'

type Outcome = { code: number | null; stdout: Buffer; stderr: string }
type Secret = { address: string; secretKey: Uint8Array }

/** Long enough for an overloaded machine; a command that waits longer shows a different prompt than expected. */
const timeoutMs = 60_000

suite('latchkey sign', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  const directory = temporaryDirectory(scope)
  const passwordFile = join(directory, 'password')
  let kmd: Kmd
  let facts: DevnetFacts
  let params: algosdk.SuggestedParams
  /** In the wallet `one`: alice and dora. In `two`: bob. Nowhere: carol. */
  let [alice, bob, carol, dora]: [Secret, Secret, Secret, Secret] = [] as never

  before(async () => {
    writeFileSync(passwordFile, 'secret\n', { mode: 0o600 })
    kmd = await start(scope)
    ;({ facts } = await startDevnet(scope))
    params = await new algosdk.Algodv2('', facts.url).getTransactionParams().do()
    const accounts = facts.accounts.map(({ address, mnemonic }) => {
      return { address, secretKey: algosdk.mnemonicToSecretKey(mnemonic).sk }
    })
    ;[alice, bob, carol, dora] = accounts as [Secret, Secret, Secret, Secret]
    for (const [name, keys] of [
      ['one', [alice, dora]],
      ['two', [bob]],
    ] as const) {
      const handle = await kmd.unlock(await kmd.create(name, 'secret'), 'secret')
      for (const { secretKey } of keys) {
        const body = { wallet_handle_token: handle, private_key: Buffer.from(secretKey).toString('base64') }
        await kmd.ok('POST', '/v1/key/import', body)
      }
    }
  })

  const common = (wallet = 'one'): string[] => ['-d', kmd.dataDir, '-w', wallet, '--password-file', passwordFile]
  const environment = { PATH: process.env['PATH'] ?? '', HOME: directory }

  /** Runs the command without a terminal, even if the tests run in one. */
  async function run(args: string[], input: Uint8Array | string = ''): Promise<Outcome> {
    const child = spawn(process.execPath, [latchkeyCommand, 'sign', ...args], { detached: true, env: environment })
    const parts: Buffer[] = []
    let stderr = ''
    child.stdout.on('data', (part: Buffer) => parts.push(part))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const [code] = await once(child, 'close')
    return { code: code as number | null, stdout: Buffer.concat(parts), stderr }
  }

  /** Runs the command in a terminal and types `reply` at the prompt. */
  async function inTerminal(args: string[], prompt: RegExp, reply: string): Promise<{ code: number; text: string }> {
    const command = [process.execPath, latchkeyCommand, 'sign', ...args]
    const script = `import pty, sys, os\nstatus = pty.spawn(${JSON.stringify(command)})\nsys.exit(os.waitstatus_to_exitcode(status))`
    const child = spawn('python3', ['-c', script], { env: { ...process.env, HOME: directory } })
    let text = ''
    let hasReplied = false
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      if (hasReplied || !prompt.test(text)) return
      hasReplied = true
      child.stdin.write(reply)
    })
    // Killing the child closes the terminal, which ends the command.
    const giveUp = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
    const [code] = await once(child, 'close')
    clearTimeout(giveUp)
    assert.ok(hasReplied, `no prompt: ${text}`)
    return { code: code as number, text }
  }

  let files = 0
  const file = (bytes: Uint8Array | string): string => {
    const path = join(directory, `input-${++files}`)
    writeFileSync(path, bytes)
    return path
  }
  const encode = (...transactions: algosdk.Transaction[]): Buffer =>
    Buffer.concat(transactions.map((one) => algosdk.encodeUnsignedTransaction(one)))
  const payment = (from: Secret, more: object = {}, microAlgos = 1_000n): algosdk.Transaction =>
    algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      sender: from.address,
      receiver: carol.address,
      amount: microAlgos,
      // Makes each transaction unique.
      note: Buffer.from(`payment ${++files}`),
      suggestedParams: params,
      ...more,
    })
  const confirmed = async (signed: Uint8Array): Promise<Json> => {
    const id = await submit(facts.url, signed)
    const pending: Json = await get(`${facts.url}/v2/transactions/pending/${id}`)
    assert.ok(pending['confirmed-round'] > 0, 'the ledger has it')
    return pending
  }
  /** Returns the number of signing requests to the daemon. */
  const signings = async (): Promise<number> => {
    const { text } = await kmd.call('GET', '/latchkey/v1/metrics')
    return [...text.matchAll(/operation="Sign[^\n]* ([0-9]+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0)
  }

  test('signs every type of transaction as algosdk does, and the ledger accepts them', async () => {
    const shared = { sender: alice.address, suggestedParams: params }
    const asset = algosdk.makeAssetCreateTxnWithSuggestedParamsFromObject({
      ...shared,
      total: 1_000n,
      decimals: 2,
      unitName: 'GLD',
      assetName: 'Gold',
      manager: alice.address,
      reserve: alice.address,
      defaultFrozen: false,
    })
    const created = await run(['--yes', ...common()], encode(asset))
    assert.equal(created.code, 0, created.stderr)
    assert.match(created.stderr, /Creates an asset named "Gold": 10 "GLD" in total, 2 decimals\./)
    const assetIndex = (await confirmed(created.stdout))['asset-index']
    const cases: [algosdk.Transaction, RegExp][] = [
      [payment(alice), /Pays 0\.001 ALGO to /],
      [
        algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
          ...shared,
          sender: dora.address,
          receiver: dora.address,
          amount: 0,
          assetIndex,
        }),
        /Opts in to asset /,
      ],
      [
        algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
          ...shared,
          receiver: dora.address,
          amount: 7,
          assetIndex,
        }),
        /Sends 7 base units of asset /,
      ],
      [
        algosdk.makeKeyRegistrationTxnWithSuggestedParamsFromObject({ ...shared, nonParticipation: false }),
        /Takes the account offline/,
      ],
    ]
    for (const [transaction, words] of cases) {
      const { code, stdout, stderr } = await run(['--yes', ...common()], encode(transaction))
      assert.equal(code, 0, stderr)
      assert.match(stderr, words)
      const signer = transaction.sender.toString()
      assertSigned(stdout, transaction, signer)
      const { secretKey } = signer === alice.address ? alice : dora
      assert.deepEqual(stdout, Buffer.from(transaction.signTxn(secretKey)))
      await confirmed(stdout)
    }
  })

  test('reads raw bytes, base64 and files of goal, and writes a new file', async () => {
    const transaction = payment(alice)
    const signed = Buffer.from(transaction.signTxn(alice.secretKey))
    const bytes = encode(transaction)
    const wrapped = Buffer.concat([Buffer.from('81a374786e', 'hex'), bytes])
    const inLines = bytes.toString('base64').replace(/(.{76})/g, '$1\n')
    for (const input of [bytes, wrapped, bytes.toString('base64'), inLines, `${wrapped.toString('base64')}\n`]) {
      const out = join(directory, `out-${++files}`)
      const { code, stdout, stderr } = await run([file(input), '--yes', '--out', out, ...common()])
      assert.deepEqual([code, stdout.length], [0, 0], stderr)
      assert.deepEqual(readFileSync(out), signed)
      assert.equal(statSync(out).mode & 0o777, 0o600)
    }
    const json = await run([file(bytes), '--yes', '--json', ...common()])
    assert.deepEqual(JSON.parse(String(json.stdout)), {
      transactions: [{ id: transaction.txID(), signed: true, missingSignatures: 0 }],
      out: null,
      bytes: signed.toString('base64'),
    })
  })

  test('signs its own part of a group and passes on the rest', async () => {
    const group = algosdk.assignGroupID([payment(alice), payment(bob), payment(dora)])
    const first = await run(['-y', ...common('one')], encode(...group))
    assert.equal(first.code, 0, first.stderr)
    assert.match(first.stderr, /Transaction 1 of 3, [A-Z2-7]{52}:\n/)
    assert.match(first.stderr, /signing it agrees to the whole group/)
    assert.match(first.stderr, /Transaction 2 of 3 stays unsigned: one has no key for its sender\./)
    assert.doesNotMatch(first.stderr, /Warning/)
    const second = await run(['-y', ...common('two')], first.stdout)
    assert.match(second.stderr, /Transaction 1 of 3 is passed on unchanged: it is already signed\./)
    const keys = [alice, bob, dora].map(({ secretKey }) => secretKey)
    assert.deepEqual(second.stdout, Buffer.concat(group.map((one, index) => one.signTxn(keys[index]!))))
    await confirmed(second.stdout)
  })

  test('warns about an incomplete group', async () => {
    const [one] = algosdk.assignGroupID([payment(alice), payment(bob)])
    const { code, stderr } = await run(['-y', ...common()], encode(one!))
    assert.equal(code, 0)
    assert.match(stderr, /Warning: This is not the complete group/)
  })

  test('describes the transaction before asking, and signs only on yes', {
    skip: missingProgram('python3'),
  }, async () => {
    const path = file(encode(payment(alice, {}, 1_234_567n)))
    const before = await signings()
    const no = await inTerminal([path, ...common()], /Sign\? \[y\/N\] $/, '\r')
    assert.equal(no.code, 1, no.text)
    assert.match(no.text, /nothing was signed/)
    assert.equal(await signings(), before)
    const yes = await inTerminal([path, ...common()], /Sign\? \[y\/N\] $/, 'y\r')
    assert.equal(yes.code, 0, yes.text)
    assert.match(yes.text, /Pays 1\.234567 ALGO to [A-Z2-7]{58}\.[\s\S]*Sign\?/)
    assert.ok((await signings()) > before)
    const [, base64] = /\r\n([A-Za-z0-9+/=]{200,})\r\n/.exec(yes.text)!
    assert.deepEqual(algosdk.decodeSignedTransaction(Buffer.from(base64!, 'base64')).txn.payment?.amount, 1_234_567n)
  })

  test('Ctrl-C signs and writes nothing', { skip: missingProgram('python3') }, async () => {
    const out = join(directory, 'never')
    const before = await signings()
    const { code, text } = await inTerminal(
      [file(encode(payment(alice))), '--out', out, ...common()],
      /Sign\? \[y\/N\] $/,
      '\u0003',
    )
    assert.equal(code, 130, text)
    assert.equal(existsSync(out), false)
    assert.equal(await signings(), before)
  })

  test('signs a rekey only after the typed word, or with both options', {
    skip: missingProgram('python3'),
  }, async () => {
    const rekey = payment(dora, { rekeyTo: alice.address })
    const path = file(encode(rekey))
    const before = await signings()
    const flag = await run([path, '--yes', ...common()])
    assert.deepEqual([flag.code, flag.stdout.length], [2, 0])
    assert.match(flag.stderr, /--yes alone does not confirm this: It rekeys [A-Z2-7]{58} to [A-Z2-7]{58}/)
    const hasty = await inTerminal([path, ...common()], /Type sign to continue: $/, 'y\r')
    assert.equal(hasty.code, 1, hasty.text)
    assert.equal(await signings(), before)
    const out = join(directory, 'rekey')
    const meant = await inTerminal([path, '--out', out, ...common()], /Type sign to continue: $/, 'sign\r')
    assert.equal(meant.code, 0, meant.text)
    assert.match(meant.text, /Warning: It rekeys [\s\S]*This cannot be undone\. Type sign/)
    const both = await run([path, '--yes', '--allow-warnings', ...common()])
    assert.deepEqual(both.stdout, readFileSync(out))
    await confirmed(both.stdout)

    // From here on, alice's key signs for dora.
    const after = payment(dora)
    const { code, stdout, stderr } = await run(['-y', '--key', alice.address, ...common()], encode(after))
    assert.equal(code, 0, stderr)
    assert.match(stderr, /is signed by [A-Z2-7]{58}, to which its sender must be rekeyed/)
    assertSigned(stdout, after, alice.address)
    await confirmed(stdout)
  })

  test('requires the typed word to close an account, but only if it signs for it', async () => {
    const closing = payment(bob, { closeRemainderTo: carol.address })
    const refused = await run(['-y', ...common('two')], encode(closing))
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /--yes alone does not confirm this: It closes /)
    const group = algosdk.assignGroupID([closing, payment(alice)])
    const own = await run(['-y', ...common('one')], encode(...group))
    assert.equal(own.code, 0, own.stderr)
  })

  test('signs for a multisig member by member until the ledger accepts it', async () => {
    const metadata = { version: 1, threshold: 2, addrs: [alice.address, carol.address, bob.address] }
    const account = algosdk.multisigAddress(metadata)
    const handle = await kmd.unlock((await kmd.wallets()).find(({ name }) => name === 'one')!.id, 'secret')
    const pks = metadata.addrs.map((one) => Buffer.from(algosdk.decodeAddress(one).publicKey).toString('base64'))
    const stored = { wallet_handle_token: handle, multisig_version: 1, threshold: 2, pks }
    await kmd.ok('POST', '/v1/multisig/import', stored)
    await confirmed(payment(alice, { receiver: account }, 1_000_000n).signTxn(alice.secretKey))
    const spend = payment({ address: account.toString(), secretKey: new Uint8Array() })
    const path = file(encode(spend))
    const signFor = (wallet: string, member: string, ...more: string[]) =>
      run([path, '-y', '--multisig', account.toString(), '--member', member, ...more, ...common(wallet)])

    const first = await signFor('one', alice.address, '--out', path)
    assert.equal(first.code, 0, first.stderr)
    assert.match(first.stderr, /Transaction needs 1 more signature\./)
    // The wallet `two` does not have the multisig; the file contains everything that is needed.
    const second = await signFor('two', bob.address, '--out', path, '--json')
    assert.equal(second.code, 0, second.stderr)
    assert.doesNotMatch(second.stderr, /needs/)
    assert.equal(JSON.parse(String(second.stdout)).transactions[0].missingSignatures, 0)
    const theirs = [alice, bob].map(({ secretKey }) => algosdk.signMultisigTransaction(spend, metadata, secretKey).blob)
    assert.deepEqual(readFileSync(path), Buffer.from(algosdk.mergeMultisigTransactions(theirs)))
    await confirmed(readFileSync(path))

    const stranger = await run([path, '-y', '--multisig', carol.address, '--member', alice.address, ...common()])
    assert.equal(stranger.code, 3)
    assert.match(stranger.stderr, /belong to a different account than [A-Z2-7]{58}; nothing was signed/)
  })

  test('does not add its signature to a wrong one', async () => {
    const metadata = { version: 1, threshold: 2, addrs: [alice.address, bob.address] }
    const account = algosdk.multisigAddress(metadata).toString()
    const spend = payment({ address: account, secretKey: new Uint8Array() })
    const { blob } = algosdk.signMultisigTransaction(spend, metadata, alice.secretKey)
    const signature = algosdk.decodeSignedTransaction(blob).msig!.subsig[0]!.s!
    const damaged = Buffer.from(blob)
    damaged[damaged.indexOf(Buffer.from(signature)) + 5]! ^= 1
    const { code, stdout, stderr } = await run(
      ['-y', '--multisig', account, '--member', bob.address, ...common('two')],
      damaged,
    )
    assert.deepEqual([code, stdout.length], [3, 0])
    assert.match(stderr, /existing signature of [A-Z2-7]{58} is invalid; nothing was written/)
  })

  test('signs a program after confirming that this cannot be undone', async () => {
    const program = Buffer.from('0a8101', 'hex')
    const args = ['--program', file(program), '--key', alice.address, ...common()]
    const refused = await run([...args, '-y'])
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /--yes alone does not confirm this: Anyone who has the program/)
    const { code, stdout, stderr } = await run([...args, '-y', '--allow-warnings'])
    assert.equal(code, 0, stderr)
    const { publicKey } = algosdk.decodeAddress(alice.address)
    const message = Buffer.concat([Buffer.from('Program'), program])
    assert.ok(isSignature(publicKey, message, Buffer.from(String(stdout), 'base64')))
  })

  test('signs nothing of a file with unexpected content', async () => {
    const bytes = encode(payment(alice))
    const before = await signings()
    const seventeen = Buffer.concat(new Array(17).fill(bytes))
    const wrong = [Buffer.concat([bytes, Buffer.of(0)]), bytes.subarray(0, -1), seventeen, Buffer.of(), 'hello', '{}']
    for (const input of [...wrong, `${bytes.toString('base64')} !`, Buffer.alloc(3_000_000, 'A')]) {
      const { code, stdout, stderr } = await run(['-y', ...common()], input)
      assert.deepEqual([code, stdout.length], [3, 0], stderr)
      assert.match(stderr, /^latchkey sign: stdin (is not a transaction or a group|cannot be read): /)
    }
    assert.equal(await signings(), before)
  })

  test('reports invalid usage and signs nothing', async () => {
    const own = file(encode(payment(alice)))
    const foreign = file(encode(payment(carol)))
    const cases: [string[], number, RegExp][] = [
      [[own, ...common()], 2, /confirmation is required, but stdin is not a terminal; give --yes/],
      [[foreign, '-y', ...common()], 3, /the wallet one has no key to sign any of the transactions/],
      [[own, '-y', '--key', carol.address, ...common()], 3, /wallet one does not have the key of /],
      [[own, '-y', '--key', 'nonsense', ...common()], 2, /--key must be an address/],
      [[own, '-y', '--multisig', carol.address, ...common()], 2, /--multisig and --member must be given together/],
      [[own, '-y', '--program', own, '--key', alice.address, ...common()], 2, /a transaction or --program/],
      [['-y', '--program', own, ...common()], 2, /--program needs --key/],
      [[join(directory, 'nowhere'), '-y', ...common()], 3, /cannot be read: ENOENT/],
      [[own, '-y', '-d', kmd.dataDir, '-w', 'one', '--no-password'], 6, /password/],
      [[own, '-y', '-d', directory, '-w', 'one', '--no-password'], 5, /kmd/],
      [[own, '-y', '--out', join(directory, 'no', 'such'), ...common()], 3, /cannot be written: ENOENT/],
    ]
    for (const [args, expected, message] of cases) {
      const { code, stdout, stderr } = await run(args)
      assert.deepEqual([code, stdout.length], [expected, 0], `${args.join(' ')}: ${stderr}`)
      assert.match(stderr, message)
    }
  })
})

/** Untyped, because the assertions check it. */
type Json = ReturnType<typeof JSON.parse>
