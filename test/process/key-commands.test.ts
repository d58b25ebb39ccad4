/** Tests `latchkey key ...` in scripts. See `prompts.test.ts` for terminals. */
import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import * as algosdk from 'algosdk'
import { startHostedDevnet } from '../support/devnet.test.helper.js'
import { hostedLatchkey, latchkey, type Outcome, type RunOptions } from '../support/latchkey.test.helper.js'
import { type Kmd, start, startHosted, suiteScope, temporaryDirectory } from './commands.test.helper.js'

suite('latchkey key', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  const directory = temporaryDirectory(scope)
  const passwordFile = join(directory, 'password')
  writeFileSync(passwordFile, 'pw\n', { mode: 0o600 })
  let kmd: Kmd
  let walletId: string
  /** A new handle each time: a handle would expire on a slow machine. */
  const unlock = (): Promise<string> => kmd.unlock(walletId, 'pw')

  before(async () => {
    kmd = await startHosted(scope)
    walletId = await kmd.create('keys', 'pw')
  })

  const run = (args: string, options: RunOptions = {}): Promise<Outcome> =>
    hostedLatchkey(args.split(' '), { dataDir: kmd.dataDir, env: { KMD_PASSWORD_FILE: passwordFile }, ...options })

  function failed({ code, stdout, stderr }: Outcome, expected: number, message: RegExp): void {
    assert.deepEqual([code, stdout], [expected, ''], stderr)
    assert.match(stderr, message)
  }

  test('generates keys and lists them', async () => {
    const one = await run('key new')
    const three = await run('key new -n 3 --json')
    const { wallet, addresses } = JSON.parse(three.stdout)
    assert.equal(wallet.name, 'keys')
    const created = [one.stdout.trim(), ...addresses]
    assert.equal(created.length, 4)
    assert.deepEqual([...created].sort(), (await kmd.keys(await unlock())).sort())
    const listed = await run('key list')
    assert.deepEqual([listed.stderr, listed.stdout.trim().split('\n').sort()], ['', [...created].sort()])
    const { keys } = JSON.parse((await run('key list --json')).stdout)
    assert.deepEqual(Object.keys(keys[0]), ['address'])
    for (const count of ['0', '-1', 'x', '10001']) {
      failed(await run(`key new --count=${count}`), 2, /--count must be a number from 1 to 10000/)
    }
  })

  test('lists nothing for an empty wallet and names the next step', async () => {
    await kmd.create('empty', 'pw')
    failed(await run('key list -w empty'), 0, /The wallet empty has no key yet. To generate one: latchkey key new/)
  })

  test('suggests a network for a misspelt name', async () => {
    await kmd.create('misspelt', 'pw')
    const address = (await run('key new -w misspelt')).stdout
    const { code, stdout, stderr } = await run('key list -w misspelt --network mainnet2')
    assert.deepEqual([code, stdout], [3, address])
    const message = 'the balances cannot be read: unknown network mainnet2; did you mean mainnet?'
    assert.equal(stderr, `latchkey key list: ${message}\n`)
  })

  test('shows balances in ALGO and dollars from the given node', async (t) => {
    const { facts } = await startHostedDevnet(t)
    const [account] = facts.accounts
    await kmd.create('rich', 'pw')
    await run('key import -w rich --mnemonic-fd 3', { descriptors: [account!.mnemonic] })
    const poor = (await run('key new -w rich')).stdout.trim()
    const named = await run(`key list -w rich --node ${facts.url} --dollar 31566704`)
    assert.equal(named.code, 0, named.stderr)
    assert.match(named.stdout, new RegExp(`^${account!.address}  [0-9.,]+ ALGO  \\$[0-9.,]+$`, 'm'))
    assert.match(named.stdout, new RegExp(`^${poor}  0 ALGO$`, 'm'))
    const env = { KMD_PASSWORD_FILE: passwordFile, ALGOD_URL: facts.url, USDC_ASSET_ID: '31566704' }
    const { keys } = JSON.parse((await run('key list -w rich --json', { env })).stdout)
    const found = keys.find(({ address }: { address: string }) => address === account!.address)
    assert.ok(Number(found.algos) > 0)
  })

  test('lists the addresses and exits with 3 if the node does not respond', async () => {
    const { code, stdout, stderr } = await run('key list -w keys --node http://127.0.0.1:1')
    assert.equal(code, 3)
    assert.equal(stdout.trim().split('\n').length, 4)
    assert.match(stderr, /^latchkey key list: the balances cannot be read: /)
  })

  test('imports mnemonics and secret keys, and exports what algosdk derives from them', async () => {
    await kmd.create('imports', 'pw')
    const [first, second, third] = [algosdk.generateAccount(), algosdk.generateAccount(), algosdk.generateAccount()]
    const words = algosdk.secretKeyToMnemonic(first.sk)
    const byWords = await run('key import -w imports --mnemonic-fd 3', { descriptors: [`${words}\n`] })
    assert.deepEqual([byWords.code, byWords.stdout], [0, `${first.addr}\n`])
    assert.match(byWords.stderr, /The backup of imports does not restore imported keys/)
    const path = join(directory, 'secret')
    for (const [account, bytes] of [
      [second, second.sk],
      [third, third.sk.subarray(0, 32)],
    ] as const) {
      writeFileSync(path, `${Buffer.from(bytes).toString('base64')}\n`)
      const { code, stdout } = await run(`key import -w imports --json --secret-key-file ${path}`)
      assert.deepEqual([code, JSON.parse(stdout).address], [0, account.addr.toString()])
    }
    for (const { addr, sk } of [first, second, third]) {
      const exported = await run(`key export ${addr} -w imports --yes`)
      assert.equal(exported.stdout, `${algosdk.secretKeyToMnemonic(sk)}\n`)
      assert.ok(!exported.stderr.includes(exported.stdout.slice(0, 30)))
      const base64 = await run(`key export ${addr} -w imports --yes --format base64`)
      assert.equal(base64.stdout, `${Buffer.from(sk).toString('base64')}\n`)
    }
    const json = JSON.parse((await run(`key export ${first.addr} -w imports --yes --json`)).stdout)
    assert.deepEqual([json.address, json.words], [first.addr.toString(), words])
    const again = await run('key import -w imports --mnemonic-fd 3', { descriptors: [words] })
    failed(again, 3, new RegExp(`${first.addr} is already in imports; nothing was done`))
  })

  test('rejects an invalid key', async () => {
    const path = join(directory, 'broken')
    const { sk } = algosdk.generateAccount()
    const damaged = Buffer.from(sk)
    damaged[63]! ^= 1
    const contents: [string, RegExp][] = [
      ['', /the first line of \S+ is not 64 or 32 bytes in base64/],
      ['not base64!', /64 or 32 bytes in base64/],
      [Buffer.from(sk.subarray(0, 33)).toString('base64'), /64 or 32 bytes in base64/],
      [damaged.toString('base64'), /is damaged: its public key does not match its seed/],
    ]
    for (const [content, message] of contents) {
      writeFileSync(path, content)
      const outcome = await run(`key import -w keys --secret-key-file ${path}`)
      failed(outcome, 3, message)
      if (content.length > 20) assert.ok(!outcome.stderr.includes(content.slice(0, 20)))
    }
    failed(await run('key import -w keys --secret-key-file /nonexistent'), 3, /the key cannot be read: ENOENT/)
    failed(
      await run('key import -w keys --secret-key-file x --mnemonic-fd 3'),
      2,
      /give a mnemonic or --secret-key-file, not both/,
    )
    failed(await run('key import -w keys'), 2, /the mnemonic is required, but stdin is not a terminal/)
    assert.equal((await kmd.keys(await unlock())).length, 4)
  })

  test('exports only with --yes or --out', async () => {
    const [address] = await kmd.keys(await unlock())
    failed(await run(`key export ${address} -w keys`), 2, /stdout is not a terminal; give --out FILE, or --yes/)
    const out = join(directory, 'exported')
    assert.equal((await run(`key export ${address} -w keys --out ${out}`)).code, 0)
    assert.equal(statSync(out).mode & 0o777, 0o600)
    const { sk } = algosdk.mnemonicToSecretKey(readFileSync(out, 'utf8').trim())
    assert.equal(algosdk.encodeAddress(sk.subarray(32)), address)
    failed(await run(`key export ${address} -w keys --out ${out}`), 3, /already exists and was not overwritten/)
    failed(await run(`key export ${address} -w keys --out /nonexistent/x`), 3, /cannot be written: ENOENT/)
    failed(await run(`key export ${address} --format hex`), 2, /--format must be words or base64/)
  })

  test('reports an invalid address and a missing key', async () => {
    const { addr } = algosdk.generateAccount()
    for (const command of ['export', 'delete']) {
      const stranger = await run(`key ${command} ${addr} -w keys --yes`)
      failed(
        stranger,
        3,
        new RegExp(`wallet keys does not have the key of ${addr}; list the keys with latchkey key list`),
      )
      const misspelt = await run(`key ${command} ${addr.toString().toLowerCase()} -w keys --yes`)
      failed(misspelt, 2, /is not an address/)
    }
  })

  test('deletes only with --yes, and reports whether the backup restores the key', async () => {
    const last = await kmd.generate(await unlock())
    failed(
      await run(`key delete ${last} -w keys`),
      2,
      /confirmation is required, but stdin is not a terminal; give --yes/,
    )
    const { code, stdout, stderr } = await run(`key delete ${last} -w keys --yes --json`)
    assert.deepEqual([code, JSON.parse(stdout).place], [0, 5])
    assert.match(stderr, /This is key 5 that was generated in keys: .*latchkey wallet recover NEW-NAME --keys 5/)
    const words = (await run('wallet backup keys --yes')).stdout
    const options = { descriptors: [words] }
    const recovered = await run('wallet recover keys-again --keys 5 --no-password --mnemonic-fd 3', options)
    assert.equal(recovered.stdout.trim().split('\n').at(-1), last)
    const { addr, sk } = algosdk.generateAccount()
    await run('key import -w keys --mnemonic-fd 3', { descriptors: [algosdk.secretKeyToMnemonic(sk)] })
    const gone = await run(`key delete ${addr} -w keys --yes`)
    assert.deepEqual([gone.code, gone.stdout], [0, ''])
    assert.match(gone.stderr, /This key was imported, so .* it is lost permanently\.\nDeleted .*\.\n$/)
    assert.ok(!(await kmd.keys(await unlock())).includes(addr.toString()))
  })

  test('reports how many keys were generated before the daemon stopped', async (t) => {
    const other = await start(t)
    await other.create('cut short', '')
    const running = latchkey(['key', 'new', '-n', '10000', '--no-password', '--json'], { dataDir: other.dataDir })
    await untilKeys(other)
    await other.stop('SIGKILL')
    const { code, stdout, stderr } = await running
    assert.equal(code, 5)
    assert.match(JSON.parse(stdout).error.code, /^daemon_(not_running|unreachable)$/)
    assert.match(
      stderr,
      /^Generated [0-9]+ of 10000 keys; run latchkey key new for the others\.\nlatchkey key new: [^\n]+\n$/,
    )
  })

  async function untilKeys(daemon: Kmd): Promise<void> {
    const { id } = (await daemon.wallets())[0]!
    const opened = await daemon.unlock(id, '')
    // The first keys may be on disk before the command has their responses.
    while ((await daemon.keys(opened)).length < 30) await new Promise((resolve) => setTimeout(resolve, 20))
  }

  test("writes no secret and no password to the daemon's log", async () => {
    const words = (await run('wallet backup keys --yes')).stdout.trim()
    const log = kmd.log()
    assert.ok(!log.includes(words) && !log.includes('"pw"'))
  })
})
