/** Runs against a real daemon in this process. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Address, Ed25519, type Transaction } from '@latchkey/algorand'
import { Daemon } from '@latchkey/kmd'
import { Kmd } from '@latchkey/kmd-client'
import { fromKmd } from './Kmd.js'
import * as Signer from './Signer.js'

const timeout = 30_000
const wallet = 'purse'
const password = 'secret'

type Running = { dataDir: string; address: string; restart: () => Promise<void>; stop: () => Promise<void> }

/** A daemon on a free port with the given handle lifetime, and a key in a wallet. */
async function startDaemon(t: TestContext, lifetimeSecs = 60): Promise<Running> {
  const dataDir = mkdtempSync(join(tmpdir(), 'latchkey-signer-'))
  const drivers = { sqlite: { scrypt: { scrypt_n: 2 }, allow_unsafe_scrypt: true }, ledger: { disable: true } }
  const config = { address: '127.0.0.1:0', session_lifetime_secs: lifetimeSecs, drivers }
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify(config))
  const start = (): Promise<Daemon> => Daemon.start({ dataDir, wire: 'documented', limits: { stopMs: 100 } })
  let daemon: Daemon | undefined = await start()
  const stop = async (): Promise<void> => {
    await daemon?.stop()
    daemon = undefined
  }
  t.after(async () => {
    await stop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const kmd = await Kmd.connect({ dataDir })
  await kmd.wallets.create({ name: wallet, password })
  const opened = await kmd.unlock({ name: wallet, password })
  const address = await opened.generateKey()
  await opened.release()
  const restart = async (): Promise<void> => {
    await stop()
    daemon = await start()
  }
  return { dataDir, address, restart, stop }
}

function payment(sender: string): Transaction.Transaction {
  const gh = new Uint8Array(32).fill(1)
  return { type: 'pay', snd: Address.decode(sender), rcv: new Uint8Array(32).fill(2), amt: 1n, fee: 1_000n, lv: 9n, gh }
}

test('check reports whether the signer can sign', { timeout }, async (t) => {
  const { dataDir, address, restart, stop } = await startDaemon(t)
  const of = (change: object = {}) => fromKmd({ kmd: { dataDir }, wallet, password, address, ...change })
  const signer = of()
  await signer.check!()
  await assert.rejects(of({ password: 'wrong' }).check!(), { code: 'wrong_password' })
  await assert.rejects(of({ wallet: 'none' }).check!(), { code: 'wallet_name_not_found' })
  const other = Signer.fromSeed(new Uint8Array(32).fill(3)).address
  await assert.rejects(of({ address: other }).check!(), { code: 'signer_key_missing' })
  await restart()
  await signer.check!()
  await stop()
  await assert.rejects(signer.check!(), { name: 'KmdClientError' })
})

test('signs with a key in the daemon, unlocked on first use', { timeout }, async (t) => {
  const { dataDir, address } = await startDaemon(t)
  let asked = 0
  const ask = () => {
    asked++
    return password
  }
  const signer = fromKmd({ kmd: { dataDir }, wallet, password: ask, address })
  assert.equal(asked, 0)
  const both = await Promise.all([1, 2].map(() => Signer.signTransaction(signer, payment(address))))
  assert.ok(both.every((signed) => signed.length > 0))
  assert.ok(asked >= 1)
})

test('a password string is used for every signature', { timeout }, async (t) => {
  const { dataDir, address } = await startDaemon(t)
  const signer = fromKmd({ kmd: { dataDir }, wallet, password, address })
  for (let round = 0; round < 3; round++) await Signer.signTransaction(signer, payment(address))
})

test('finds a restarted daemon on another port', { timeout }, async (t) => {
  const { dataDir, address, restart } = await startDaemon(t)
  const signer = fromKmd({ kmd: { dataDir }, wallet, password: () => password, address })
  for (let round = 0; round < 3; round++) {
    await Signer.signTransaction(signer, payment(address))
    await restart()
  }
  await Signer.signTransaction(signer, payment(address))
})

test('unlocks again after the handle expired', { timeout }, async (t) => {
  const { dataDir, address } = await startDaemon(t, 1)
  const signer = fromKmd({ kmd: { dataDir }, wallet, password: () => password, address })
  await Signer.signTransaction(signer, payment(address))
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  await Signer.signTransaction(signer, payment(address))
})

test('retries after the daemon was not running', { timeout }, async (t) => {
  const { dataDir, address, stop, restart } = await startDaemon(t)
  await stop()
  const signer = fromKmd({ kmd: { dataDir }, wallet, password: () => password, address })
  await assert.rejects(Signer.signTransaction(signer, payment(address)), { code: 'daemon_not_running' })
  await restart()
  await Signer.signTransaction(signer, payment(address))
})

test('requests the password again after a wrong one', { timeout }, async (t) => {
  const { dataDir, address } = await startDaemon(t)
  const passwords = ['wrong']
  const signer = fromKmd({ kmd: { dataDir }, wallet, password: () => passwords.pop() ?? password, address })
  await assert.rejects(Signer.signTransaction(signer, payment(address)), { message: /wrong password/ })
  await Signer.signTransaction(signer, payment(address))
})

test('fails for a key that is not in the wallet; signs for a rekeyed account', {
  timeout,
}, async (t) => {
  const { dataDir, address } = await startDaemon(t)
  const stranger = Address.encode(Ed25519.publicKey(new Uint8Array(32).fill(3)))
  const without = fromKmd({ kmd: { dataDir }, wallet, password: () => password, address: stranger })
  await assert.rejects(Signer.signTransaction(without, payment(stranger)), { name: 'KmdClientError' })
  const rekeyed = fromKmd({ kmd: { dataDir }, wallet, password: () => password, address, sender: stranger })
  await Signer.signTransaction(rekeyed, payment(stranger))
})

test('rejects unset options immediately', () => {
  const options = {
    kmd: { dataDir: '/x' },
    wallet: 'w',
    password: '',
    address: Signer.fromSeed(new Uint8Array(32)).address,
  }
  fromKmd(options)
  const bad: [object, string][] = [
    [{ address: undefined }, 'invalid_signer_address'],
    [{ address: 'invalid' }, 'invalid_signer_address'],
    [{ sender: 'invalid' }, 'invalid_signer_address'],
    [{ wallet: undefined }, 'invalid_option'],
    [{ password: undefined }, 'invalid_option'],
    [{ kmd: undefined }, 'invalid_option'],
    [{ kmd: { dataDir: undefined } }, 'invalid_option'],
  ]
  for (const [change, code] of bad) assert.throws(() => fromKmd({ ...options, ...change } as never), { code })
})
