/**
 * Tests every method of AlgoKit's kmd client, which is generated from the Go daemon's description; and how AlgoKit uses
 * it to find the funding account of a local network by wallet name.
 */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { Address } from '@algorandfoundation/algokit-utils'
import type { AlgodClient } from '@algorandfoundation/algokit-utils/algod-client'
import { KmdClient } from '@algorandfoundation/algokit-utils/kmd-client'
import {
  bytesForSigning,
  decodeSignedTransaction,
  encodeTransactionRaw,
  MultisigAccount,
  Transaction,
  TransactionType,
} from '@algorandfoundation/algokit-utils/transact'
import { ClientManager } from '@algorandfoundation/algokit-utils/types/client-manager'
import { KmdAccountManager } from '@algorandfoundation/algokit-utils/types/kmd-account-manager'
import { startHostedDaemon, type TestDaemon } from '../support/daemon.test.helper.js'
import { derived, masterKey } from '../support/golden.test.helper.js'
import {
  assertMultisigned,
  assertSigned,
  isSignature,
  multisigProgramMessage,
  programMessage,
} from '../support/signatures.test.helper.js'
import { decodeMultisig, payment, program } from '../support/tour.test.helper.js'

const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(KmdClient.prototype)).filter(
  (name) => !name.startsWith('_') && name !== 'constructor' && name !== 'mimeTypeFor',
)

let daemon: TestDaemon
let kmd: KmdClient
const called = new Set<string>()

before(async () => {
  daemon = await startHostedDaemon()
  // No retries, because a test must see the first response.
  kmd = noting(new KmdClient({ baseUrl: daemon.baseUrl, token: daemon.token, maxRetries: 0 }))
})
after(() => daemon?.stop())

const walletPassword = 'kit password'
let count = 0

async function openWallet(masterDerivationKey?: Uint8Array): Promise<{ id: string; handle: Handle; name: string }> {
  const name = `wallet ${++count}`
  const mdk = masterDerivationKey === undefined ? {} : { masterDerivationKey }
  const { wallet } = await kmd.createWallet({ walletName: name, walletPassword, ...mdk })
  const { walletHandleToken } = await kmd.initWalletHandle({ walletId: wallet.id, walletPassword })
  return { id: wallet.id, handle: { walletHandleToken }, name }
}

type Handle = { walletHandleToken: string }

suite('wallets', () => {
  test('a daemon without wallets lists none', async () => {
    assert.deepEqual((await kmd.listWallets()).wallets, [])
  })

  test('version', async () => {
    assert.deepEqual((await kmd.version()).versions, ['v1'])
  })

  test('create, list, rename', async () => {
    const { wallet } = await kmd.createWallet({ walletName: 'of the kit', walletPassword })
    assert.deepEqual(
      { ...wallet },
      {
        driverName: 'sqlite',
        driverVersion: 1,
        id: wallet.id,
        mnemonicUx: false,
        name: 'of the kit',
        supportedTxs: ['pay', 'keyreg'],
      },
    )
    assert.deepEqual((await kmd.listWallets()).wallets, [wallet])
    const renamed = await kmd.renameWallet({ walletId: wallet.id, walletPassword, walletName: 'renamed' })
    assert.deepEqual(renamed.wallet, { ...wallet, name: 'renamed' })
  })

  test('handles', async () => {
    const { id, handle, name } = await openWallet()
    const { walletHandle } = await kmd.walletInfo(handle)
    assert.deepEqual([walletHandle.wallet.id, walletHandle.wallet.name], [id, name])
    assert.ok(walletHandle.expiresSeconds > 50 && walletHandle.expiresSeconds < 60)
    assert.deepEqual((await kmd.renewWalletHandleToken(handle)).walletHandle.wallet, walletHandle.wallet)
    await kmd.releaseWalletHandleToken(handle)
    await refuses(kmd.walletInfo(handle), '/v1/wallet/info', 401, 'handle does not exist')
  })
})

suite('keys', () => {
  test('an empty wallet lists none', async () => {
    const { handle } = await openWallet()
    assert.deepEqual((await kmd.listKeysInWallet(handle)).addresses, [])
    assert.deepEqual((await kmd.listMultisig(handle)).addresses, [])
  })

  test('generate, list, export, delete', async () => {
    const { handle } = await openWallet(masterKey)
    for (const address of derived.slice(0, 3)) assert.equal(String((await kmd.generateKey(handle)).address), address)
    const listed = (await kmd.listKeysInWallet(handle)).addresses.map(String)
    assert.deepEqual(listed, [derived[1], derived[0], derived[2]])
    const exported = await kmd.exportKey({ ...handle, walletPassword, address: toAddress(derived[0]) })
    assert.deepEqual(exported.privateKey.slice(32), toAddress(derived[0]).publicKey)
    await kmd.deleteKey({ ...handle, walletPassword, address: toAddress(derived[0]) })
    assert.deepEqual((await kmd.listKeysInWallet(handle)).addresses.map(String), [derived[1], derived[2]])
    const { masterDerivationKey } = await kmd.exportMasterKey({ ...handle, walletPassword })
    assert.deepEqual(Buffer.from(masterDerivationKey), masterKey)
  })

  test('import', async () => {
    const from = await openWallet(masterKey)
    const { address } = await kmd.generateKey(from.handle)
    const { privateKey } = await kmd.exportKey({ ...from.handle, walletPassword, address })
    const { handle } = await openWallet()
    assert.deepEqual((await kmd.importKey({ ...handle, privateKey })).address, address)
    const again = kmd.importKey({ ...handle, privateKey })
    await refuses(again, '/v1/key/import', 400, 'key already exists in wallet')
  })
})

suite('signing', () => {
  test('signs a transaction by its sender and by another key', async () => {
    const { handle } = await openWallet(masterKey)
    await kmd.generateKey(handle)
    await kmd.generateKey(handle)
    const transaction = paymentOf(derived[0])
    const expected = payment(derived[0])
    assert.deepEqual(Buffer.from(encodeTransactionRaw(transaction)), Buffer.from(expected.toByte()))
    const { signedTransaction } = await kmd.signTransaction({ ...handle, walletPassword, transaction })
    assertSigned(signedTransaction, expected, derived[0])
    assert.ok(decodeSignedTransaction(signedTransaction).sig)
    const { publicKey } = toAddress(derived[1])
    const other = await kmd.signTransaction({ ...handle, walletPassword, transaction, publicKey })
    assertSigned(other.signedTransaction, expected, derived[1])
    assert.equal(String(decodeSignedTransaction(other.signedTransaction).authAddress), derived[1])
  })

  test('signs a program', async () => {
    const { handle } = await openWallet(masterKey)
    const { address } = await kmd.generateKey(handle)
    const { sig } = await kmd.signProgram({ ...handle, walletPassword, address, program })
    assert.ok(isSignature(address.publicKey, programMessage(program), sig))
  })
})

suite('multisig', () => {
  const metadata = { version: 1, threshold: 2, addrs: derived.slice(0, 3) }
  const publicKeys = metadata.addrs.map((member) => toAddress(member).publicKey)

  const openMultisig = async () => {
    const { handle } = await openWallet(masterKey)
    for (const _ of publicKeys) await kmd.generateKey(handle)
    const { address } = await kmd.importMultisig({ ...handle, multisigVersion: 1, threshold: 2, publicKeys })
    return { handle, address }
  }

  test('import, list, export, delete', async () => {
    const { handle, address } = await openMultisig()
    const account = new MultisigAccount({ version: 1, threshold: 2, addrs: metadata.addrs.map(toAddress) }, [])
    assert.equal(String(address), String(account.addr))
    assert.deepEqual((await kmd.listMultisig(handle)).addresses, [address])
    const exported = await kmd.exportMultisig({ ...handle, address })
    assert.deepEqual([exported.multisigVersion, exported.threshold], [1, 2])
    assert.deepEqual(
      exported.publicKeys.map((key) => Buffer.from(key)),
      publicKeys.map((key) => Buffer.from(key)),
    )
    await kmd.deleteMultisig({ ...handle, walletPassword, address })
    assert.deepEqual((await kmd.listMultisig(handle)).addresses, [])
  })

  test('starts a transaction and adds to it', async () => {
    const { handle, address } = await openMultisig()
    const transaction = paymentOf(String(address))
    const request = { ...handle, walletPassword, transaction }
    const first = await kmd.signMultisigTransaction({ ...request, publicKey: publicKeys[0]! })
    const message = bytesForSigning.transaction(transaction)
    assertMultisigned(decode(first.multisig), metadata, message, [derived[0]])
    const second = await kmd.signMultisigTransaction({
      ...request,
      publicKey: publicKeys[2]!,
      partialMultisig: toPartial(first.multisig),
      signer: address.publicKey,
    })
    assertMultisigned(decode(second.multisig), metadata, message, [derived[0], derived[2]])
  })

  test('signs a program, in the new and in the legacy form', async () => {
    const { handle, address } = await openMultisig()
    const request = { ...handle, walletPassword, address, program }
    const first = await kmd.signMultisigProgram({ ...request, publicKey: publicKeys[0]! })
    const message = multisigProgramMessage(String(address), program)
    assertMultisigned(decode(first.multisig), metadata, message, [derived[0]])
    const second = await kmd.signMultisigProgram({
      ...request,
      publicKey: publicKeys[1]!,
      partialMultisig: toPartial(first.multisig),
    })
    assertMultisigned(decode(second.multisig), metadata, message, [derived[0], derived[1]])
    const legacy = await kmd.signMultisigProgram({ ...request, publicKey: publicKeys[0]!, useLegacyMsig: true })
    assertMultisigned(decode(legacy.multisig), metadata, programMessage(program), [derived[0]])
  })
})

suite('failures', () => {
  test('a wrong password', async () => {
    const { id, handle } = await openWallet()
    const message = 'error decrypting. wrong password?'
    await refuses(kmd.initWalletHandle({ walletId: id, walletPassword: 'no' }), '/v1/wallet/init', 401, message)
    await refuses(kmd.exportMasterKey({ ...handle, walletPassword: 'no' }), '/v1/master-key/export', 400, message)
  })

  test('a wrong token', async () => {
    const stranger = new KmdClient({ baseUrl: daemon.baseUrl, token: 'b'.repeat(64), maxRetries: 0 })
    await refuses(stranger.listWallets(), '/v1/wallets', 401, 'invalid API token')
  })
})

test('every method of the client was called', () => {
  assert.ok(methods.length >= 22, `only ${methods.length} methods were found`)
  assert.deepEqual([...called].sort(), [...methods].sort())
})

suite('accounts by wallet name', () => {
  const walletName = 'unencrypted-default-wallet'
  let manager: KmdAccountManager

  /** Simulates the node of a local network: which account its genesis funded, and what each account owns. */
  const node = {
    suggestedParams: async () => ({ genesisId: 'devnet-v1', genesisHash: new Uint8Array(32) }),
    genesis: async () => ({ alloc: [{ addr: derived[0], comment: 'Wallet1', state: {} }] }),
    accountInformation: async (address: unknown) => ({ amount: String(address) === derived[2] ? 1n : 0n }),
  } as unknown as AlgodClient

  before(async () => {
    manager = new KmdAccountManager(new ClientManager({ algod: node, kmd }))
    const { wallet } = await kmd.createWallet({ walletName, walletPassword: '', masterDerivationKey: masterKey })
    const handle = await kmd.initWalletHandle({ walletId: wallet.id, walletPassword: '' })
    for (let i = 0; i < 3; i++) await kmd.generateKey(handle)
  })

  test('returns the first listed account, in byte order', async () => {
    assert.equal(String((await manager.getWalletAccount(walletName))?.addr), derived[1])
    assert.equal(String((await manager.getOrCreateWalletAccount(walletName)).addr), derived[1])
  })

  test('returns the matching account', async () => {
    const found = await manager.getWalletAccount(walletName, ({ amount }) => Number(amount) > 0)
    assert.equal(String(found?.addr), derived[2])
  })

  test('returns the account that the network funded, which signs', async () => {
    const dispenser = await manager.getLocalNetDispenserAccount()
    assert.equal(String(dispenser.addr), derived[0])
    const [signed] = await dispenser.signer([paymentOf(derived[0])], [0])
    assertSigned(signed!, payment(derived[0]), derived[0])
  })

  test('returns nothing for an unknown wallet', async () => {
    assert.equal(await manager.getWalletAccount('nothing'), undefined)
  })
})

function noting(client: KmdClient): KmdClient {
  return new Proxy(client, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function' || typeof name !== 'string') return value
      return (...parameters: unknown[]) => {
        called.add(name)
        return Reflect.apply(value, target, parameters)
      }
    },
  })
}

async function refuses(call: Promise<unknown>, path: string, status: number, message: string): Promise<void> {
  await assert.rejects(call, (error: Error & { status: number; body: unknown }) => {
    assert.equal(error.message, `Request to ${path} failed with status ${status}: ${message}`)
    assert.deepEqual({ ...(error.body as object) }, { error: true, message })
    return true
  })
}

function toAddress(text: string): Address {
  return Address.fromString(text)
}

/** Builds with AlgoKit the same payment that algosdk builds elsewhere. */
function paymentOf(sender: string): Transaction {
  return new Transaction({
    type: TransactionType.Payment,
    sender: toAddress(sender),
    fee: 1000n,
    firstValid: 1n,
    lastValid: 1001n,
    genesisId: 'test-v1',
    genesisHash: new Uint8Array(masterKey),
    note: new Uint8Array([1, 2, 3]),
    payment: { receiver: toAddress(sender), amount: 12345n },
  })
}

function decode(multisig: Uint8Array) {
  return decodeMultisig(Buffer.from(multisig).toString('base64'))
}

function toPartial(multisig: Uint8Array) {
  const { v, thr, subsig } = decode(multisig)
  const subsignatures = subsig.map(({ pk, s }) => ({ publicKey: pk, ...(s === undefined ? {} : { signature: s }) }))
  return { subsignatures, threshold: thr, version: v }
}
