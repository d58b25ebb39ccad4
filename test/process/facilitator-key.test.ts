/** Tests `latchkey facilitator` with a key that cannot sign: it does not start, and it reports a key that it loses. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { Devnet } from '@latchkey/devnet'
import * as algosdk from 'algosdk'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { hostedLatchkey, type Outcome } from '../support/latchkey.test.helper.js'
import { atEnd, type Kmd, start, suiteScope, temporaryDirectory, until } from './commands.test.helper.js'

type Supported = { kinds: { extra: { feePayer: string } }[]; signers: object }
suite('the fee key of latchkey facilitator', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  const directory = temporaryDirectory(scope)
  const passwordFile = join(directory, 'password')
  let kmd: Kmd
  let devnet: Devnet
  let fees: string
  let other: string

  before(async () => {
    writeFileSync(passwordFile, 'secret\n', { mode: 0o600 })
    kmd = await start(scope)
    devnet = await Devnet.start({ port: 0 })
    atEnd(scope, () => devnet.stop())
    const handle = await kmd.unlock(await kmd.create('fees', 'secret'), 'secret')
    const [first, second] = devnet.accounts
    fees = first!.address
    other = second!.address
    const key = { wallet_handle_token: handle, private_key: first!.secretKey }
    await kmd.ok('POST', '/v1/key/import', key)
  })

  const environment = (): { [name: string]: string } => ({ PATH: process.env['PATH'] ?? '', HOME: directory })
  const options = (): string[] => {
    const chain = ['--port', '0', '--json', '--network', 'local', '--node', devnet.url, '--dollar', '31566704']
    return [latchkeyCommand, 'facilitator', ...chain, '--store', join(directory, 'settlements.db')]
  }
  const daemonKey = (changes: { [option: string]: string } = {}): string[] => {
    const given = { '-d': kmd.dataDir, '-w': 'fees', '--password-file': passwordFile, '--key': fees, ...changes }
    return Object.entries(given).flat()
  }

  /** Runs the command until it exits, which it never does with a usable key. */
  function run(args: string[], env: { [name: string]: string } = {}): Promise<Outcome> {
    return hostedLatchkey([...options().slice(1), ...args], { env: { ...environment(), ...env } })
  }

  async function refused(args: string[], code: number, text: RegExp, env: { [name: string]: string } = {}) {
    const { code: found, stdout, stderr } = await run(args, env)
    assert.match(stderr, text)
    assert.equal(found, code, stderr)
    assert.equal(typeof JSON.parse(stdout).error.code, 'string')
  }

  test('exits with 6 for a wrong, missing or unreadable password', async () => {
    const wrong = join(directory, 'wrong')
    writeFileSync(wrong, 'guess\n', { mode: 0o600 })
    await refused(daemonKey({ '--password-file': wrong }), 6, /wrong password/)
    const missing = daemonKey().filter((word) => word !== '--password-file' && word !== passwordFile)
    await refused(missing, 6, /password/)
    await refused(daemonKey({ '--password-file': join(directory, 'none') }), 6, /password/)
  })

  test('exits with 3 for a missing wallet or key', async () => {
    await refused(daemonKey({ '-w': 'purse' }), 3, /wallet.*purse.*latchkey wallet list/s)
    await refused(
      daemonKey({ '--key': other }),
      3,
      /has no key [A-Z2-7]{58}; list the wallet's keys with latchkey key list/,
    )
  })

  test('exits with 5 if the daemon does not run or does not respond', async () => {
    const empty = join(directory, 'empty')
    await refused(daemonKey({ '-d': empty }), 5, /no key daemon is running in .*; start one with latchkey kmd/)
  })

  test('exits with 3 for a damaged key in the environment', async () => {
    await refused([], 3, /mnemonic|word/, { AVM_MNEMONIC: 'abandon '.repeat(25).trim() })
    await refused([], 3, /secret key/, { AVM_PRIVATE_KEY: 'AAAA' })
  })

  test('exits with 3 for an account rekeyed to another key', async () => {
    const client = new algosdk.Algodv2('', devnet.url)
    const [, , rekeyed] = devnet.accounts
    const { sk, addr } = algosdk.mnemonicToSecretKey(rekeyed!.mnemonic)
    const suggestedParams = await client.getTransactionParams().do()
    const of = { sender: addr, receiver: addr, amount: 0, rekeyTo: other, suggestedParams }
    const transaction = algosdk.makePaymentTxnWithSuggestedParamsFromObject(of)
    await client.sendRawTransaction(transaction.signTxn(sk)).do()
    await refused([], 3, /is authorized by a different key/, { AVM_MNEMONIC: rekeyed!.mnemonic })
  })

  test('several keys are several fee accounts, and a missing one does not prevent the start', async (t) => {
    const child = spawn(process.execPath, [...options(), ...daemonKey({ '--key': other }), '--key', fees], {
      env: environment(),
    })
    atEnd(t, () => child.kill('SIGKILL'))
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    await until('its first line', () => stdout.includes('\n'))
    const { url, feePayers } = JSON.parse(stdout) as { url: string; feePayers: string[] }
    assert.deepEqual(feePayers, [other, fees])
    await until('the reason', () => new RegExp(`has no key ${other}`).test(stderr))
    const { kinds, signers } = (await (await fetch(`${url}/supported`)).json()) as Supported
    assert.equal(kinds[0]!.extra.feePayer, fees, 'one that can sign')
    assert.deepEqual(signers, { 'algorand:*': [other, fees] })
    const ready = await fetch(`${url}/readyz`)
    assert.equal(ready.status, 200)
    const { feeAccounts } = (await ready.json()) as { feeAccounts: { address: string; status: string }[] }
    assert.deepEqual(
      feeAccounts.map(({ address, status }) => [address, status]),
      [
        [other, 'failed'],
        [fees, 'ok'],
      ],
    )
  })

  test('accepts options for several keys once, or once per key', async () => {
    const three = ['--key', other, '--key', other, '--password-file', passwordFile]
    await refused([...daemonKey(), ...three], 2, /--password-file is given 2 times, but --key 3 times/)
    const gap = { AVM_MNEMONIC_2: devnet.accounts[0]!.mnemonic }
    await refused([], 2, /AVM_MNEMONIC_2 is set, but AVM_MNEMONIC is not/, gap)
    const twice = { AVM_MNEMONIC: devnet.accounts[0]!.mnemonic, ...gap }
    await refused([], 3, /feePayer contains the same account twice/, twice)
  })

  test('rejects an invalid seller or asset as invalid usage', async () => {
    await refused(['--pay-to', 'SELLER'], 2, /--pay-to SELLER is not an Algorand address/)
    await refused(['--asset', 'USDC'], 2, /--asset USDC is not the id of an asset/)
  })

  test('is unhealthy without the daemon, and recovers with it', async (t) => {
    const child = spawn(process.execPath, [...options(), ...daemonKey()], { env: environment() })
    atEnd(t, () => child.kill('SIGKILL'))
    let stdout = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.resume()
    const { url } = await until('its address', () =>
      stdout.endsWith('\n') ? (JSON.parse(stdout) as { url: string }) : false,
    )
    const health = async (): Promise<{ status: number; text: string }> => {
      const response = await fetch(`${url}/health`)
      return { status: response.status, text: await response.text() }
    }
    const metrics = async (): Promise<string> => (await fetch(`${url}/metrics`)).text()
    assert.equal((await health()).status, 200)
    assert.match((await health()).text, /"feeBalance":"[0-9.]+ ALGO"/)
    assert.match(await metrics(), /^latchkey_facilitator_can_sign\{account="\w+"\} 1$/m)
    await kmd.stop()
    const lost = await until('the lost daemon', async () => {
      const found = await health()
      return found.status === 503 ? found : false
    })
    assert.match(lost.text, /"reason":"the fee account cannot sign/)
    assert.match(await metrics(), /^latchkey_facilitator_can_sign\{account="\w+"\} 0$/m)
    assert.match(await metrics(), /^latchkey_facilitator_healthy 0$/m)
    kmd = await start(scope, { dataDir: kmd.dataDir })
    await until('the daemon again', async () => (await health()).status === 200)
    // A daemon that accepts connections and does not respond.
    kmd.signal('SIGSTOP')
    try {
      await until('the stopped daemon', async () => (await health()).status === 503)
    } finally {
      kmd.signal('SIGCONT')
    }
    await until('the daemon once more', async () => (await health()).status === 200)
  })

  test('a second signal ends a start that waits for a hanging key daemon', async (t) => {
    const daemon = createServer().listen(0, '127.0.0.1')
    const connected = once(daemon, 'connection')
    await once(daemon, 'listening')
    const { port } = daemon.address() as AddressInfo
    const dataDir = temporaryDirectory(t)
    writeFileSync(join(dataDir, 'kmd.net'), `127.0.0.1:${port}`)
    writeFileSync(join(dataDir, 'kmd.token'), 'a'.repeat(64), { mode: 0o600 })
    const args = [...options(), ...daemonKey({ '-d': dataDir })]
    const child = spawn(process.execPath, args, { env: environment(), stdio: 'ignore' })
    atEnd(t, () => {
      child.kill('SIGKILL')
      daemon.close()
    })
    const exited = once(child, 'close')
    await connected
    child.kill('SIGTERM')
    // Two pending signals of the same kind would count as one.
    child.kill('SIGINT')
    assert.deepEqual(await exited, [130, null])
  })
})
