import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  Address,
  Ed25519,
  KeyDerivation,
  Multisig,
  Network,
  Program,
  SignedOffer,
  SignedReceipt,
  SignedTransaction,
  Transaction,
} from '@latchkey/algorand'
import { makeDataDir, type Running, readState, recordingProxy, removeDataDir, targets } from './daemons.test.helper.js'
import { Kmd, KmdClientError, type Wallet } from './index.js'
import { routes } from './operations.js'

const program = Uint8Array.of(1, 32, 1, 1, 34)
const password = 'päss "word"\\\n😀'

function payment(sender: Uint8Array): Uint8Array {
  return Transaction.encode({
    type: 'pay',
    snd: sender,
    rcv: new Uint8Array(32).fill(7),
    amt: 1n,
    fee: 1000n,
    fv: 1n,
    lv: 1000n,
    gh: new Uint8Array(32).fill(9),
  })
}

for (const target of targets) {
  test(`every operation: ${target.name}`, async (t) => {
    let dataDir: string
    let daemon: Running
    let kmd: Kmd
    let wallet: Wallet
    let count = 0

    t.before(async () => {
      dataDir = makeDataDir()
      daemon = await target.start(dataDir)
      kmd = await Kmd.connect({ dataDir, ...target.client })
    })

    t.after(async () => {
      kmd.close()
      await daemon.stop()
      removeDataDir(dataDir)
    })

    t.beforeEach(async () => {
      const name = `wallet ${++count}`
      await kmd.wallets.create({ name, password })
      wallet = await kmd.unlock({ name, password: () => password })
    })

    t.afterEach(() => wallet.release())

    await t.test('versions', async () => {
      assert.deepEqual(await kmd.versions(), ['v1'])
    })

    await t.test('description', async () => {
      assert.equal((await kmd.description())['swagger'], '2.0')
    })

    await t.test('wallets.list and wallets.create', async () => {
      const created = await kmd.wallets.create({ name: `listed ${count}`, password: '' })
      assert.deepEqual(created, {
        id: created.id,
        name: `listed ${count}`,
        driverName: 'sqlite',
        driverVersion: 1,
        mnemonicUx: false,
        supportedTransactions: ['pay', 'keyreg'],
      })
      assert.match(created.id, /^[0-9a-f]{32}$/)
      assert.deepEqual(
        (await kmd.wallets.list()).find(({ id }) => id === created.id),
        created,
      )
    })

    await t.test('wallets.create from a master derivation key', async () => {
      const masterDerivationKey = new Uint8Array(32).fill(5)
      const { id } = await kmd.wallets.create({ name: `restored ${count}`, password: '', masterDerivationKey })
      const restored = await kmd.unlock({ id })
      const seed = KeyDerivation.seed(masterDerivationKey, 1)
      assert.equal(await restored.generateKey(), Address.encode(Ed25519.publicKey(seed)))
      assert.deepEqual(await restored.masterDerivationKey(), masterDerivationKey)
    })

    await t.test('wallets.rename', async () => {
      const renamed = await kmd.wallets.rename({ id: wallet.id, password, newName: `renamed ${count}` })
      assert.equal(renamed.name, `renamed ${count}`)
      assert.equal((await wallet.info()).name, `renamed ${count}`)
    })

    await t.test('wallet.info', async () => {
      const { expiresSeconds, ...info } = await wallet.info()
      assert.ok(expiresSeconds > 30 && expiresSeconds <= 60)
      assert.equal(info.id, wallet.id)
      assert.deepEqual(
        (await kmd.wallets.list()).find(({ id }) => id === wallet.id),
        info,
      )
    })

    await t.test('wallet.rename', async () => {
      await wallet.rename(`other ${count} é`)
      assert.equal(wallet.name, `other ${count} é`)
      assert.equal((await wallet.info()).name, `other ${count} é`)
    })

    await t.test('wallet.release ends the handle, and a second call does nothing', async () => {
      await wallet.release()
      await wallet.release()
      await assert.rejects(wallet.keys(), {
        code: 'wallet_released',
        message: 'this wallet was released; unlock it again',
      })
      await assert.rejects(wallet.exportKey('x'), { code: 'wallet_released' })
    })

    await t.test('a wallet is released at the end of its scope', async () => {
      const outside = await (async () => {
        await using scoped = await kmd.unlock({ id: wallet.id, password })
        await scoped.keys()
        return scoped
      })()
      await assert.rejects(outside.keys(), { code: 'wallet_released' })
    })

    await t.test('wallet.keys of an empty wallet, and wallet.generateKey', async () => {
      assert.deepEqual(await wallet.keys(), [])
      const addresses = [await wallet.generateKey(), await wallet.generateKey()]
      assert.deepEqual((await wallet.keys()).sort(), addresses.sort())
      assert.ok(addresses.every(Address.isValid))
    })

    await t.test('wallet.importKey, exportKey and deleteKey', async () => {
      const { publicKey, secretKey } = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(count))
      const address = await wallet.importKey(secretKey)
      assert.equal(address, Address.encode(publicKey))
      assert.deepEqual(Buffer.from(await wallet.exportKey(address)), Buffer.from(secretKey))
      await wallet.deleteKey(address)
      await assert.rejects(wallet.exportKey(address), { status: 400, message: 'key does not exist in this wallet' })
      await wallet.deleteKey(address)
      assert.equal(await wallet.importKey(secretKey.subarray(0, 32)), address)
      await assert.rejects(wallet.importKey(secretKey), { status: 400, message: 'key already exists in wallet' })
    })

    await t.test('wallet.masterDerivationKey', async () => {
      const address = await wallet.generateKey()
      const seed = KeyDerivation.seed(await wallet.masterDerivationKey(), 1)
      assert.equal(address, Address.encode(Ed25519.publicKey(seed)))
    })

    await t.test('wallet.importMultisig, multisigs, exportMultisig and deleteMultisig', async () => {
      assert.deepEqual(await wallet.multisigs(), [])
      const address = await wallet.generateKey()
      const publicKeys = [Address.decode(address), new Uint8Array(32).fill(1)]
      // By address and by bytes.
      const multisig = await wallet.importMultisig({ threshold: 2, publicKeys: [address, publicKeys[1]!] })
      assert.equal(multisig, Address.encode(Multisig.address({ version: 1, threshold: 2, publicKeys })))
      assert.deepEqual(await wallet.multisigs(), [multisig])
      assert.deepEqual(await wallet.exportMultisig(multisig), { version: 1, threshold: 2, publicKeys })
      await wallet.deleteMultisig(multisig)
      assert.deepEqual(await wallet.multisigs(), [])
      await assert.rejects(wallet.exportMultisig(multisig), { status: 400 })
    })

    await t.test('wallet.signTransaction', async () => {
      const sender = Address.decode(await wallet.generateKey())
      const transaction = payment(sender)
      const signed = SignedTransaction.decode(await wallet.signTransaction(transaction))
      assert.ok(Ed25519.verify(signed.sig!, Transaction.bytesToSign(transaction), sender))
      assert.equal(signed.sgnr, undefined)
    })

    await t.test("wallet.signTransaction with another account's key", async () => {
      const other = await wallet.generateKey()
      const transaction = payment(new Uint8Array(32).fill(3))
      for (const publicKey of [other, Address.decode(other)]) {
        const signed = SignedTransaction.decode(await wallet.signTransaction(transaction, { publicKey }))
        assert.ok(Ed25519.verify(signed.sig!, Transaction.bytesToSign(transaction), Address.decode(other)))
        assert.deepEqual(Buffer.from(signed.sgnr!), Buffer.from(Address.decode(other)))
      }
    })

    await t.test('wallet.signProgram', async () => {
      const address = await wallet.generateKey()
      const signature = await wallet.signProgram({ address, program })
      assert.ok(Ed25519.verify(signature, Program.bytesToSign(program), Address.decode(address)))
    })

    await t.test('wallet.signMultisigTransaction, one member after another', async () => {
      const members = [await wallet.generateKey(), await wallet.generateKey()]
      const multisig = await wallet.importMultisig({ threshold: 2, publicKeys: members })
      const transaction = payment(Address.decode(multisig))
      const first = await wallet.signMultisigTransaction({ transaction, publicKey: members[0]! })
      const partial = Multisig.decode(first)
      assert.deepEqual(
        partial.subsig.map(({ s }) => s !== undefined),
        [true, false],
      )
      // As the returned bytes, and decoded.
      for (const given of [first, partial]) {
        const publicKey = Address.decode(members[1]!)
        const whole = await wallet.signMultisigTransaction({ transaction, publicKey, partial: given })
        assert.ok(Multisig.verify(Multisig.decode(whole), Transaction.bytesToSign(transaction)))
      }
    })

    await t.test('wallet.signMultisigTransaction for an account rekeyed to the multisig', async () => {
      const members = [await wallet.generateKey()]
      const publicKeys = members.map(Address.decode)
      const signer = Address.encode(Multisig.address({ version: 1, threshold: 1, publicKeys }))
      const transaction = payment(new Uint8Array(32).fill(3))
      const partial = { v: 1, thr: 1, subsig: [{ pk: publicKeys[0]! }] }
      const options = { transaction, publicKey: members[0]!, partial }
      const whole = await wallet.signMultisigTransaction({ ...options, signer })
      assert.ok(Multisig.verify(Multisig.decode(whole), Transaction.bytesToSign(transaction)))
      await assert.rejects(wallet.signMultisigTransaction(options), {
        message: 'given multisig preimage hashes to neither Sender nor AuthAddr',
      })
    })

    await t.test('wallet.signMultisigProgram, in both formats', async () => {
      const members = [await wallet.generateKey(), await wallet.generateKey()]
      const address = await wallet.importMultisig({ threshold: 2, publicKeys: members })
      for (const useLegacyMultisig of [false, true]) {
        const common = { address, program, useLegacyMultisig }
        const partial = await wallet.signMultisigProgram({ ...common, publicKey: members[0]! })
        const whole = await wallet.signMultisigProgram({ ...common, publicKey: members[1]!, partial })
        const message = useLegacyMultisig
          ? Program.bytesToSign(program)
          : Program.multisigBytesToSign(Address.decode(address), program)
        assert.ok(Multisig.verify(Multisig.decode(whole), message))
      }
    })

    await t.test('passwords with arbitrary bytes are sent unchanged', async () => {
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
      const { id } = await kmd.wallets.create({ name: `bytes ${count}`, password: bytes })
      const unlocked = await kmd.unlock({ id, password: bytes })
      const address = await unlocked.generateKey()
      assert.equal((await unlocked.exportKey(address, { password: bytes })).length, 64)
      assert.equal(bytes[1], 1)
      await assert.rejects(unlocked.exportKey(address, { password: bytes.with(255, 0) }), {
        message: 'error decrypting. wrong password?',
      })
    })

    await t.test('a daemon error has its status, code and text', async () => {
      await assert.rejects(kmd.unlock({ id: wallet.id, password: 'wrong' }), (error) => {
        assert.ok(error instanceof KmdClientError)
        assert.equal(error.status, 401)
        assert.equal(error.code, 'wrong_password')
        assert.equal(error.operation, 'InitWalletHandleToken')
        assert.equal(error.message, 'error decrypting. wrong password?')
        return true
      })
      await assert.rejects(kmd.wallets.create({ name: wallet.name, password: '' }), {
        status: 400,
        operation: 'CreateWallet',
        code: 'name_taken',
        message: 'wallet with same name already exists',
      })
      await assert.rejects(kmd.unlock({ id: 'unknown' }), {
        status: 400,
        code: 'wallet_not_found',
        message: 'wallet not found',
      })
    })

    await t.test('node and consoleLink exist only in Latchkey', async () => {
      if (!target.isOurs) {
        for (const call of [() => kmd.node(), () => kmd.consoleLink()]) {
          await assert.rejects(call, { code: 'operation_not_supported' })
        }
        return
      }
      const none = { genesisId: '', genesisHash: '', network: '', lastRound: 0 }
      const message = 'no node is set: start the daemon with --node URL, or set "algod" in kmd_config.json'
      assert.deepEqual(await kmd.node(), { isSet: false, isReachable: false, ...none, message })
      const { url, expiresSeconds } = await kmd.consoleLink()
      assert.match(url, /^http:\/\/127\.0\.0\.1:[0-9]+\/console\/#[A-Za-z0-9_-]{43}$/)
      assert.ok(url.startsWith(`http://${kmd.address}/`))
      assert.equal(expiresSeconds, 60)
      assert.notEqual((await kmd.consoleLink()).url, url)
    })

    await t.test('the address book exists only in Latchkey', async () => {
      const address = Address.encode(new Uint8Array(32).fill(7))
      if (!target.isOurs) {
        await assert.rejects(kmd.contacts.list(), { code: 'operation_not_supported' })
        return
      }
      assert.deepEqual(await kmd.contacts.list(), [])
      assert.deepEqual(await kmd.contacts.set({ address, label: ' Café ' }), { address, label: 'Café' })
      assert.deepEqual(await kmd.contacts.list(), [{ address, label: 'Café' }])
      const other = Address.encode(new Uint8Array(32).fill(8))
      await assert.rejects(kmd.contacts.set({ address: other, label: 'CAFÉ' }), { code: 'label_taken' })
      await assert.rejects(kmd.contacts.set({ address: other, label: '\u001b[2J' }), { code: 'bad_label' })
      await kmd.contacts.delete({ address })
      assert.deepEqual(await kmd.contacts.list(), [])
    })

    await t.test('health, changePassword and delete exist only in Latchkey', async () => {
      const { id } = wallet
      if (!target.isOurs) {
        for (const call of [
          () => kmd.health(),
          () => kmd.wallets.changePassword({ id, password, newPassword: 'new' }),
          () => kmd.wallets.delete({ id, password }),
        ]) {
          await assert.rejects(call, { code: 'operation_not_supported', message: /the Go daemon does not have/ })
        }
        return
      }
      const health = await kmd.health()
      assert.equal(health.status, 'ok')
      assert.ok(health.wallets > 0 && health.openHandles > 0 && health.uptimeSeconds >= 0)
      await kmd.wallets.changePassword({ id, password, newPassword: 'new' })
      await assert.rejects(kmd.unlock({ id, password }), { status: 401 })
      await (await kmd.unlock({ id, password: 'new' })).release()
      const { movedTo } = await kmd.wallets.delete({ name: wallet.name, password: 'new' })
      assert.notEqual(movedTo, '')
      assert.ok(!(await kmd.wallets.list()).some((other) => other.id === id))
    })
  })
}

/** Operations with their own test: agents.test.ts. */
const isTestedElsewhere = (path: string): boolean => /^\/latchkey\/v1\/(agents?|approvals|audit)(\/|$)/.test(path)

/** Operations used only by the console's page. The client has no methods for them. */
const consoleOnly = new Set([
  ...['OpenConsole', 'CloseConsole', 'GetSignings', 'GetAccounts', 'FindTransactions', 'DescribeTransaction'],
  ...['GetTransactionParameters', 'GetAssets', 'GetHoldings', 'SimulateTransaction', 'SubmitTransaction'],
  ...['GetTransactionOutcome', 'FundAccount'],
  ...['ListPendingBackups', 'BackUpWallet', 'FinishWalletBackup'],
])

test('the client has a method for every operation except those only for the console', async (t) => {
  const dataDir = makeDataDir()
  const daemon = await targets[0]!.start(dataDir)
  t.after(async () => {
    await daemon.stop()
    removeDataDir(dataDir)
  })
  const { address, token } = readState(dataDir)
  const proxy = await recordingProxy(address)
  t.after(() => proxy.close())
  const kmd = await Kmd.connect({ address: proxy.address, token })
  await Promise.all([kmd.versions(), kmd.description(), kmd.health(), kmd.node(), kmd.consoleLink()])
  const { id } = await kmd.wallets.create({ name: 'all', password: '' })
  await kmd.wallets.rename({ name: 'all', newName: 'every' })
  const wallet = await kmd.unlock({ name: 'every' })
  const key = await wallet.generateKey()
  const exported = await wallet.exportKey(key)
  await wallet.deleteKey(key)
  await wallet.importKey(exported)
  await kmd.contacts.set({ address: key, label: 'mine' })
  await kmd.contacts.list()
  await kmd.contacts.delete({ address: key })
  const multisig = await wallet.importMultisig({ threshold: 1, publicKeys: [key] })
  await Promise.all([wallet.info(), wallet.keys(), wallet.multisigs(), wallet.masterDerivationKey()])
  await wallet.exportMultisig(multisig)
  await wallet.signTransaction(payment(Address.decode(key)))
  await wallet.signProgram({ address: key, program })
  const sold = { network: Network.testnet.caip2, resourceUrl: 'https://shop.example/a', payer: key }
  const receipt = await wallet.signReceipt({ address: key, ...sold, transaction: 'A'.repeat(52) })
  assert.equal(SignedReceipt.verify(receipt).signer, key)
  const price = { scheme: 'exact', asset: '0', payTo: key, amount: '1', validUntil: 2_000_000_000 }
  const offer = await wallet.signOffer({ address: key, ...price, network: sold.network, resourceUrl: sold.resourceUrl })
  assert.equal(SignedOffer.verify(offer).signer, key)
  await wallet.signMultisigTransaction({ transaction: payment(Address.decode(multisig)), publicKey: key })
  await wallet.signMultisigProgram({ address: multisig, program, publicKey: key })
  await wallet.deleteMultisig(multisig)
  await wallet.release()
  await kmd.wallets.changePassword({ id, newPassword: 'x' })
  await kmd.wallets.delete({ id, password: 'x' })
  const called = new Set(proxy.seen)
  assert.deepEqual(
    [...called].sort(),
    Object.entries(routes)
      .filter(([operation, { path }]) => !consoleOnly.has(operation) && !isTestedElsewhere(path))
      .map(([, { method, path }]) => `${method} ${path}`)
      .sort(),
  )
})

test('Node modules are imported only behind the package imports', () => {
  const directory = new URL('../src/', import.meta.url)
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('.test.'))
    .filter((name) => !name.endsWith('/node.ts') && !name.startsWith('node/'))
  assert.ok(files.includes('index.ts') && files.includes('transport/DaemonTransport.ts'))
  for (const file of files) {
    const source = readFileSync(new URL(file, directory), 'utf8')
    assert.doesNotMatch(source, /\b(import|require)\(|\bBuffer\.|\bprocess\./, file)
    for (const [, from] of source.matchAll(/^(?:import|export)\b(?:[^';]*\bfrom)? '([^']+)'/gm)) {
      assert.match(
        from!,
        /^(@latchkey\/(?:algorand|http-client|kmd-api|kmd-api\/rules)|@algorandfoundation\/algokit-utils\/transact|algosdk|#data-directory|\.\.?\/(?!node\/)[A-Za-z0-9./-]+\.js)$/,
        file,
      )
    }
  }
})
