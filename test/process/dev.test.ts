/** Tests the command `latchkey dev`: its output, the stack that it starts, and that it leaves nothing behind. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Buyer, Chain, payingFetch, Signer } from '@latchkey/x402/client'
import algosdk from 'algosdk'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { atEnd, isAlive, temporaryDirectory, until } from './commands.test.helper.js'

type Account = { address: string; mnemonic: string }
type Facts = {
  devnet: { url: string; accounts: Account[]; onlineAccounts: Account[]; dispenser: Account; faucet: Account }
  kmd: { url: string; token: string; dataDir: string; wallet: string }
  facilitator: { url: string }
  seller: { url: string; address: string }
  buyer: { address: string; wallet: string }
  environment: { [name: string]: string }
}

type Running = { child: ChildProcess; exited: Promise<number | null>; stdout: () => string; directory: string }

/** Runs the command with a separate temporary directory, to see what it leaves there. */
async function start(t: TestContext, args: string[]): Promise<Running> {
  const directory = temporaryDirectory(t)
  const child = spawn(process.execPath, [latchkeyCommand, 'dev', '--ephemeral', '--any-port', ...args], {
    env: { ...process.env, TMPDIR: directory },
  })
  atEnd(t, () => child.kill('SIGKILL'))
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  const exited = once(child, 'close').then(([code]) => code as number | null)
  const isReady = (): boolean =>
    args.includes('--json') ? stdout.endsWith('\n') : stdout.endsWith('To stop everything, press Ctrl-C.\n')
  await until('the block', isReady)
  return { child, exited, stdout: () => stdout, directory }
}

function run(args: string[], directory: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const options = { timeout: 120_000, env: { ...process.env, TMPDIR: directory } }
    const child = execFile(process.execPath, [latchkeyCommand, 'dev', ...args], options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
  })
}

suite('latchkey dev', () => {
  test('prints one paid request, runs until Ctrl-C, and leaves no files behind', { timeout: 240_000 }, async (t) => {
    const { child, exited, stdout, directory } = await start(t, [])
    const output = stdout()
    assert.match(output, /the buyer requests http:\/\/127\.0\.0\.1:[0-9]+\/weather\n/)
    assert.match(output, /the seller responds with 402 Payment Required: \$0\.01 in USDC \(asset 31566704\)\n/)
    assert.match(output, /the key daemon signs payment [A-Z2-7]{8}…; the buyer's key never leaves it\n/)
    assert.match(output, /the facilitator settles the payment in round 1 and pays the fee\n/)
    assert.match(output, /the seller responds with 200: \{"report":\{"weather":"sunny"/)
    assert.match(output, /the buyer had \$5, now \$4\.99; the seller \$1,000,000, now \$1,000,000\.01\n/)
    assert.ok(!output.includes('\x1b'), 'no colour in a pipe')
    const [, url] = /Seller +(\S+)/.exec(output)!
    assert.equal((await fetch(url!)).status, 402)
    assert.equal(readdirSync(directory).length, 1)
    child.kill('SIGINT')
    assert.equal(await exited, 0)
    assert.deepEqual(readdirSync(directory), [])
    await assert.rejects(fetch(url!))
  })

  test('--json prints the values that other programs need to use the stack', { timeout: 240_000 }, async (t) => {
    const { child, exited, stdout } = await start(t, ['--json'])
    const facts = JSON.parse(stdout()) as Facts
    const { hostname, port } = new URL(facts.kmd.url)
    const kmd = new algosdk.Kmd(facts.kmd.token, `http://${hostname}`, port)
    const { wallets } = (await kmd.listWallets()) as { wallets: { name: string }[] }
    assert.deepEqual(
      wallets.map(({ name }) => name),
      [facts.kmd.wallet, facts.buyer.wallet],
    )
    const algod = new algosdk.Algodv2(facts.environment['ALGOD_TOKEN']!, facts.devnet.url)
    assert.equal((await algod.status().do()).lastRound, 1n)
    assert.equal((await fetch(`${facts.facilitator.url}/health`)).status, 200)
    const front = new URL('/', facts.seller.url)
    const shown = await fetch(front, { headers: { Accept: 'text/html,*/*;q=0.8' } })
    assert.deepEqual([shown.status, shown.headers.get('Content-Type')], [200, 'text/html; charset=utf-8'])
    assert.match(await shown.text(), /<a href="\/weather">.*<a href="\/sales">/s)
    const asked = await fetch(front, { headers: { Accept: 'application/json' } })
    assert.deepEqual([asked.status, asked.headers.get('Content-Type')], [404, 'application/json'])
    const chain = await Chain.open({ network: 'local', nodes: facts.devnet.url, dollarAssetId: 31566704n })
    const signer = Signer.fromMnemonic(facts.devnet.accounts[2]!.mnemonic)
    assert.equal((await payingFetch(new Buyer({ signer, chains: chain }))(facts.seller.url)).status, 200)
    child.kill('SIGTERM')
    assert.equal(await exited, 0)
    assert.equal(existsSync(facts.kmd.dataDir), false)
  })

  test('acts as LocalNet: one wallet with three rich keys that are online, and no assets', {
    timeout: 240_000,
  }, async (t) => {
    const { stdout } = await start(t, ['--json'])
    const { kmd: daemon, devnet, buyer, environment } = JSON.parse(stdout()) as Facts
    const { hostname, port } = new URL(daemon.url)
    const kmd = new algosdk.Kmd(daemon.token, `http://${hostname}`, port)
    const { wallets } = (await kmd.listWallets()) as { wallets: { id: string; name: string }[] }
    const keysOf = async (name: string): Promise<string[]> => {
      const { id } = wallets.find((wallet) => wallet.name === name)!
      const { wallet_handle_token: handle } = await kmd.initWalletHandle(id, '')
      return (await kmd.listKeys(handle)).addresses
    }
    const addresses = await keysOf('unencrypted-default-wallet')
    assert.deepEqual([...addresses].sort(), devnet.onlineAccounts.map(({ address }) => address).sort())
    assert.deepEqual(await keysOf(environment['KMD_WALLET']!), [buyer.address])
    const goalDir = environment['ALGORAND_DATA']!
    assert.equal(readFileSync(join(goalDir, 'algod.net'), 'utf8'), `${new URL(devnet.url).host}\n`)
    assert.equal(join(goalDir, 'kmd-v0.5'), daemon.dataDir, 'where goal looks for the daemon')
    const algod = new algosdk.Algodv2('', devnet.url)
    for (const [index, { address }] of devnet.onlineAccounts.entries()) {
      const { amount, status, participation, assets, createdAssets } = await algod.accountInformation(address).do()
      assert.deepEqual([amount, status], [(index === 2 ? 2n : 4n) * 10n ** 15n, 'Online'])
      assert.equal(participation!.stateProofKey!.length, 64)
      assert.deepEqual(
        [assets, createdAssets],
        [[], []],
        'the newest asset of the dispenser is the one that a user creates',
      )
    }
    const { params } = await algod.getAssetByID(31566704).do()
    assert.equal(String(params?.creator), devnet.faucet.address)
  })

  test('refuses an invalid origin', async (t) => {
    for (const origin of ['*', 'null', 'dapp.example', 'https://dapp.example/', 'ftp://dapp.example', 'http://a b']) {
      const { code, stderr } = await run(['--allow-origin', origin], temporaryDirectory(t))
      assert.equal(code, 2, origin)
      assert.match(stderr, /^latchkey dev: --allow-origin takes an origin, such as [^\n]+\n$/)
    }
  })

  test('-- COMMAND runs a program and exits with its status', { timeout: 240_000 }, async (t) => {
    const directory = temporaryDirectory(t)
    const script = `
      const { ALGOD_URL, INDEXER_URL, RESOURCE_SERVER_URL, KMD_SERVER, KMD_PORT } = process.env
      const statuses = await Promise.all([ALGOD_URL + '/health', INDEXER_URL + '/v2/transactions', RESOURCE_SERVER_URL + '/weather', KMD_SERVER + ':' + KMD_PORT + '/versions'].map(async (url) => (await fetch(url)).status))
      console.log(statuses.join(' '))
      process.exit(7)`
    const inside = [process.execPath, '--input-type=module', '-e', script]
    assert.deepEqual(await run(['--any-port', '--', ...inside], directory), {
      code: 7,
      stdout: '200 200 402 200\n',
      stderr: '',
    })
    assert.deepEqual(readdirSync(directory), [])
    const missing = await run(['--any-port', '--', '/nonexistent/program'], directory)
    assert.equal(missing.code, 3)
    assert.match(missing.stderr, /^latchkey dev: \/nonexistent\/program could not be started/)
    assert.deepEqual(readdirSync(directory), [])
  })

  test('the environment lets the example buy with the key in the daemon', { timeout: 240_000 }, async (t) => {
    const buyer = fileURLToPath(new URL('../../../examples/weather/dist/buyer.js', import.meta.url))
    const { code, stdout, stderr } = await run(['--any-port', '--', process.execPath, buyer], temporaryDirectory(t))
    assert.equal(code, 0, stderr)
    assert.match(stdout, /Response body: \{"report":.*Payment response: \{.*success: true/s)
  })

  test('SIGTERM ends the program too', { timeout: 240_000 }, async (t) => {
    const directory = temporaryDirectory(t)
    const inside = [process.execPath, '-e', 'console.log(process.pid); setInterval(() => {}, 1000)']
    const child = spawn(process.execPath, [latchkeyCommand, 'dev', '--any-port', '--', ...inside], {
      env: { ...process.env, TMPDIR: directory },
    })
    atEnd(t, () => child.kill('SIGKILL'))
    const exited = once(child, 'close')
    const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
    child.kill('SIGTERM')
    assert.deepEqual(await exited, [143, null])
    assert.equal(isAlive(Number(line)), false)
    assert.deepEqual(readdirSync(directory), [])
  })

  for (const signal of ['SIGKILL', 'SIGHUP'] as const) {
    test(`leaves no process, port or file behind after ${signal}`, { timeout: 240_000 }, async (t) => {
      const directory = temporaryDirectory(t)
      // A program that has started another one, which ignores SIGTERM.
      const stubborn = `process.on('SIGTERM', () => {}); console.log(process.pid + ' ' + process.env.ALGOD_URL); setInterval(() => {}, 1000)`
      const inside = ['sh', '-c', `"${process.execPath}" -e "${stubborn}"; true`]
      const child = spawn(process.execPath, [latchkeyCommand, 'dev', '--any-port', '--', ...inside], {
        env: { ...process.env, TMPDIR: directory },
      })
      atEnd(t, () => child.kill('SIGKILL'))
      const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
      const [pid, url] = line.trim().split(' ')
      assert.equal((await fetch(`${url}/health`)).status, 200)
      assert.ok(isAlive(Number(pid)))
      child.kill(signal)
      await until('the command and its own to be gone', () => !isAlive(Number(pid)))
      await until('the files to be gone', () => readdirSync(directory).length === 0)
      await assert.rejects(fetch(`${url}/health`))
    })
  }

  test('the program reads stdin and writes stdout in a pipeline', {
    skip: missingProgram('bash'),
    timeout: 240_000,
  }, async (t) => {
    const directory = temporaryDirectory(t)
    const line = `printf 'in\n' | "$NODE" "$LATCHKEY" dev --any-port -- sh -c 'read word; echo "$word $ALGOD_URL"; seq 1 100000' | head -1`
    const env = { ...process.env, TMPDIR: directory, NODE: process.execPath, LATCHKEY: latchkeyCommand }
    const [stdout, stderr] = await new Promise<string[]>((resolve) => {
      execFile('bash', ['-c', line], { env, timeout: 120_000 }, (_, out, err) => resolve([out, err]))
    })
    assert.match(stdout!, /^in http:\/\/127\.0\.0\.1:[0-9]+\n$/)
    assert.equal(stderr, '')
    await until('the files to be gone', () => readdirSync(directory).length === 0)
  })

  test('reports invalid usage', async (t) => {
    const { code, stderr } = await run(['--nonsense'], temporaryDirectory(t))
    assert.equal(code, 2)
    assert.match(stderr, /^latchkey dev: unknown option --nonsense; [^\n]+\n$/)
  })
})
