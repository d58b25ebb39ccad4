/** The JavaScript SDK's own kmd client, as published, through every method it has. algosdk also checks the results. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import * as algosdk from 'algosdk'
import { startDaemon, type TestDaemon } from '../support/daemon.test.helper.js'
import { derived, masterKey } from '../support/golden.test.helper.js'
import { assertMultisigned, assertSigned } from '../support/signatures.test.helper.js'
import { decodeMultisig, payment } from '../support/tour.test.helper.js'

const helpers = ['constructor', 'get', 'delete', 'post']
const methods = Object.getOwnPropertyNames(algosdk.Kmd.prototype).filter((name) => !helpers.includes(name))

let daemon: TestDaemon
let kmd: algosdk.Kmd
const called = new Set<string>()

before(async () => {
  daemon = await startDaemon()
  kmd = noting(new algosdk.Kmd(daemon.token, 'http://127.0.0.1', daemon.address.split(':')[1]!))
})
after(() => daemon?.stop())

const password = 'sdk password'
let count = 0

/** A wallet of its own for each test, unlocked. */
async function openWallet(mdk?: Uint8Array): Promise<{ id: string; handle: string; name: string }> {
  const name = `wallet ${++count}`
  const { wallet } = await kmd.createWallet(name, password, mdk)
  const { wallet_handle_token } = await kmd.initWalletHandle(wallet.id, password)
  return { id: wallet.id, handle: wallet_handle_token, name }
}

suite('wallets', () => {
  test('a daemon without wallets', async () => {
    // The SDK hands the body on as it is: users look for `wallets` in it.
    assert.deepEqual(await kmd.listWallets(), {})
  })

  test('versions', async () => {
    assert.deepEqual(await kmd.versions(), { versions: ['v1'] })
  })

  test('create, list, rename', async () => {
    const { wallet } = await kmd.createWallet('créée ✓', password)
    assert.deepEqual(wallet, {
      driver_name: 'sqlite',
      driver_version: 1,
      id: wallet.id,
      mnemonic_ux: false,
      name: 'créée ✓',
      supported_txs: ['pay', 'keyreg'],
    })
    assert.deepEqual(await kmd.listWallets(), { wallets: [wallet] })
    const renamed = { ...wallet, name: 'other' }
    assert.deepEqual(await kmd.renameWallet(wallet.id, password, 'other'), { wallet: renamed })
    assert.deepEqual(await kmd.listWallets(), { wallets: [renamed] })
  })

  test('handles', async () => {
    const { id, handle, name } = await openWallet()
    const { wallet_handle } = await kmd.getWallet(handle)
    assert.deepEqual([wallet_handle.wallet.id, wallet_handle.wallet.name], [id, name])
    assert.ok(wallet_handle.expires_seconds > 50 && wallet_handle.expires_seconds < 60)
    assert.deepEqual((await kmd.renewWalletHandle(handle)).wallet_handle.wallet, wallet_handle.wallet)
    assert.deepEqual(await kmd.releaseWalletHandle(handle), {})
    await refuses(kmd.getWallet(handle), 401, 'Unauthorized', 'handle does not exist')
  })

  test('the token in a header of the user', async () => {
    const port = Number(daemon.address.split(':')[1])
    const other = new algosdk.Kmd({ 'X-KMD-API-Token': daemon.token }, 'http://127.0.0.1', port)
    assert.ok((await other.listWallets()).wallets.length > 0)
    const wrong = new algosdk.Kmd('b'.repeat(64), 'http://127.0.0.1', port)
    await refuses(wrong.listWallets(), 401, 'Unauthorized', 'invalid API token')
  })
})

suite('keys', () => {
  test('an empty wallet', async () => {
    const { handle } = await openWallet()
    assert.equal((await kmd.listKeys(handle)).addresses, undefined)
    assert.equal((await kmd.listMultisig(handle)).addresses, undefined)
  })

  test('the master derivation key and its mnemonic bring the keys back', async () => {
    const { handle } = await openWallet()
    const { master_derivation_key } = await kmd.exportMasterDerivationKey(handle, password)
    const words = algosdk.masterDerivationKeyToMnemonic(master_derivation_key)
    const { address } = await kmd.generateKey(handle)
    const restored = await openWallet(algosdk.mnemonicToMasterDerivationKey(words))
    assert.deepEqual(await kmd.generateKey(restored.handle), { address })
  })

  test('generate, list, export, delete', async () => {
    const { handle } = await openWallet(masterKey)
    for (const address of derived) assert.deepEqual(await kmd.generateKey(handle), { address })
    const byBytes = [...derived].sort((a, b) =>
      Buffer.compare(algosdk.decodeAddress(a).publicKey, algosdk.decodeAddress(b).publicKey),
    )
    assert.deepEqual(await kmd.listKeys(handle), { addresses: byBytes })
    const { private_key } = await kmd.exportKey(handle, password, derived[0])
    assert.equal(algosdk.mnemonicToSecretKey(algosdk.secretKeyToMnemonic(private_key)).addr.toString(), derived[0])
    assert.deepEqual(await kmd.deleteKey(handle, password, derived[0]), {})
    assert.deepEqual(await kmd.listKeys(handle), { addresses: byBytes.filter((address) => address !== derived[0]) })
  })

  test('import what algosdk made', async () => {
    const { handle } = await openWallet()
    const account = algosdk.generateAccount()
    const address = account.addr.toString()
    assert.deepEqual(await kmd.importKey(handle, account.sk), { address })
    assert.deepEqual(await kmd.listKeys(handle), { addresses: [address] })
    assert.deepEqual((await kmd.exportKey(handle, password, address)).private_key, account.sk)
    await refuses(kmd.importKey(handle, account.sk), 400, 'Bad Request', 'key already exists in wallet')
  })
})

suite('signing', () => {
  test('every type of transaction comes out as algosdk signs it', async () => {
    const { handle } = await openWallet()
    const account = algosdk.generateAccount()
    await kmd.importKey(handle, account.sk)
    const transactions = everyType(account.addr.toString())
    assert.equal(transactions.length, 8)
    for (const transaction of transactions) {
      const signed = await kmd.signTransaction(handle, password, transaction)
      assert.deepEqual(Buffer.from(signed), Buffer.from(transaction.signTxn(account.sk)), transaction.type)
      assertSigned(signed, transaction, account.addr.toString())
    }
  })

  test('a group, all at once on one handle', async () => {
    const { handle } = await openWallet(masterKey)
    const { address } = await kmd.generateKey(handle)
    const group = algosdk.assignGroupID(everyType(address))
    const signed = await Promise.all(group.map((transaction) => kmd.signTransaction(handle, password, transaction)))
    for (const [i, transaction] of group.entries()) assertSigned(signed[i]!, transaction, address)
  })

  test('with the key an account was rekeyed to', async () => {
    const { handle } = await openWallet(masterKey)
    await kmd.generateKey(handle)
    const transaction = payment(derived[3])
    const { publicKey } = algosdk.decodeAddress(derived[0])
    // The SDK sends the letters of an address in base64, though a public key belongs there.
    for (const key of [publicKey, derived[0]]) {
      const signed = await kmd.signTransactionWithSpecificPublicKey(handle, password, transaction, key)
      assertSigned(signed, transaction, derived[0])
    }
  })

  test('with a key that is not there', async () => {
    const { handle } = await openWallet()
    const message = 'key does not exist in this wallet'
    await refuses(kmd.signTransaction(handle, password, payment(derived[0])), 400, 'Bad Request', message)
  })
})

suite('multisig', () => {
  test('import, list, export, delete', async () => {
    const { handle } = await openWallet()
    const metadata = { version: 1, threshold: 2, addrs: derived.slice(0, 3) }
    const address = algosdk.multisigAddress(metadata).toString()
    const pks = metadata.addrs.map(publicKey)
    assert.deepEqual(await kmd.importMultisig(handle, 1, 2, pks), { address })
    assert.deepEqual(await kmd.listMultisig(handle), { addresses: [address] })
    assert.deepEqual(await kmd.exportMultisig(handle, address), { multisig_version: 1, pks, threshold: 2 })
    await refuses(kmd.importMultisig(handle, 1, 2, pks), 400, 'Bad Request', 'key already exists in wallet')
    assert.deepEqual(await kmd.deleteMultisig(handle, password, address), {})
    assert.deepEqual(await kmd.listMultisig(handle), {})
  })

  test('two members sign, and algosdk joins and verifies what they signed', async () => {
    const { handle } = await openWallet(masterKey)
    for (const address of derived.slice(0, 3)) assert.deepEqual(await kmd.generateKey(handle), { address })
    const metadata = { version: 1, threshold: 2, addrs: derived.slice(0, 3) }
    const { address } = await kmd.importMultisig(handle, 1, 2, metadata.addrs.map(publicKey))
    const transaction = payment(address)
    // The SDK says that a partial signature is a string; the daemon takes an object or nothing, in either daemon.
    const sign = async (member: string, partial?: unknown) => {
      const { publicKey: key } = algosdk.decodeAddress(member)
      const answer = await kmd.signMultisigTransaction(handle, password, transaction, key, partial as string)
      return decodeMultisig(answer.multisig)
    }
    const first = await sign(derived[0])
    assertMultisigned(first, metadata, transaction.bytesToSign(), [derived[0]])
    const both = await sign(derived[2], toPartial(first))
    assertMultisigned(both, metadata, transaction.bytesToSign(), [derived[0], derived[2]])
    const { publicKey: multisigKey } = algosdk.decodeAddress(address)
    assert.ok(algosdk.verifyMultisig(transaction.bytesToSign(), both, multisigKey))
    assert.ok(!algosdk.verifyMultisig(transaction.bytesToSign(), first, multisigKey))

    const { private_key: one } = await kmd.exportKey(handle, password, derived[0])
    const { private_key: other } = await kmd.exportKey(handle, password, derived[2])
    const { blob } = algosdk.signMultisigTransaction(transaction, metadata, one)
    const expected = algosdk.appendSignMultisigTransaction(blob, metadata, other).blob
    const joined = new algosdk.SignedTransaction({ txn: transaction, msig: both })
    assert.deepEqual(Buffer.from(algosdk.encodeMsgpack(joined)), Buffer.from(expected))
  })
})

suite('what users meet when it fails', () => {
  const wrong = 'error decrypting. wrong password?'

  test('a wrong password', async () => {
    const { id, handle } = await openWallet(masterKey)
    const { address } = await kmd.generateKey(handle)
    await refuses(kmd.initWalletHandle(id, 'no'), 401, 'Unauthorized', wrong)
    await refuses(kmd.exportKey(handle, 'no', address), 400, 'Bad Request', wrong)
    await refuses(kmd.signTransaction(handle, 'no', payment(address)), 400, 'Bad Request', wrong)
    assert.equal((await kmd.exportKey(handle, password, address)).private_key.length, 64)
  })

  test('a name that is taken, a wallet that is not there', async () => {
    const { name } = await openWallet()
    await refuses(kmd.createWallet(name, ''), 400, 'Bad Request', 'wallet with same name already exists')
    await refuses(kmd.initWalletHandle('nothing', ''), 400, 'Bad Request', 'wallet not found')
  })

  test('a text where the SDK says a partial signature is one', async () => {
    const { handle } = await openWallet(masterKey)
    const { publicKey: key } = algosdk.decodeAddress(derived[0])
    const signing = kmd.signMultisigTransaction(handle, password, payment(derived[0]), key, 'text')
    await refuses(signing, 400, 'Bad Request', 'could not decode request body')
  })

  test('an address with a wrong letter where a public key belongs', async () => {
    const { handle } = await openWallet(masterKey)
    await kmd.generateKey(handle)
    const wrong = `A${derived[0].slice(1)}`
    const signing = kmd.signTransactionWithSpecificPublicKey(handle, password, payment(derived[0]), wrong)
    await assert.rejects(signing, (error: { status: number }) => error.status === 400)
  })
})

test('every method of the client was used', () => {
  assert.ok(methods.length >= 20, `only ${methods.length} methods were found`)
  assert.deepEqual([...called].sort(), [...methods].sort())
})

function noting(client: algosdk.Kmd): algosdk.Kmd {
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

async function refuses(call: Promise<unknown>, status: number, reason: string, message: string): Promise<void> {
  await assert.rejects(call, (error: Error & { status: number }) => {
    assert.equal(error.message, `Network request error. Received status ${status} (${reason}): ${message}`)
    assert.equal(error.status, status)
    return true
  })
}

function publicKey(address: string): string {
  return algosdk.bytesToBase64(algosdk.decodeAddress(address).publicKey)
}

function toPartial({ v, thr, subsig }: algosdk.EncodedMultisig): { [name: string]: unknown } {
  const member = ({ pk, s }: algosdk.EncodedSubsig) => ({
    pk: algosdk.bytesToBase64(pk),
    ...(s === undefined ? {} : { s: algosdk.bytesToBase64(s) }),
  })
  return { subsig: subsig.map(member), thr, v }
}

function everyType(sender: string): algosdk.Transaction[] {
  const { genesisID, genesisHash } = payment(sender)
  const suggestedParams: algosdk.SuggestedParams = {
    fee: 1000n,
    flatFee: true,
    minFee: 1000n,
    firstValid: 5n,
    lastValid: 1005n,
    genesisID: genesisID!,
    genesisHash: genesisHash!,
  }
  const common = { sender, suggestedParams }
  const key = new Uint8Array(32).fill(3)
  return [
    payment(sender),
    algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      ...common,
      receiver: derived[1],
      amount: 2n ** 53n + 1n,
      closeRemainderTo: derived[2],
      rekeyTo: derived[3],
      lease: key,
    }),
    algosdk.makeKeyRegistrationTxnWithSuggestedParamsFromObject({
      ...common,
      voteKey: key,
      selectionKey: key,
      stateProofKey: new Uint8Array(64).fill(4),
      voteFirst: 1,
      voteLast: 1000,
      voteKeyDilution: 30,
    }),
    algosdk.makeAssetCreateTxnWithSuggestedParamsFromObject({
      ...common,
      total: 10n ** 19n,
      decimals: 6,
      assetName: 'naïve',
      unitName: 'NV',
      manager: derived[1],
      assetURL: 'https://example.org',
      assetMetadataHash: key,
    }),
    algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
      ...common,
      receiver: derived[1],
      amount: 7,
      assetIndex: 31566704,
    }),
    algosdk.makeAssetFreezeTxnWithSuggestedParamsFromObject({
      ...common,
      assetIndex: 5,
      freezeTarget: derived[1],
      frozen: true,
    }),
    algosdk.makeApplicationCallTxnFromObject({
      ...common,
      appIndex: 9,
      onComplete: algosdk.OnApplicationComplete.OptInOC,
      appArgs: [new Uint8Array([1]), new Uint8Array(0)],
      accounts: [derived[1]],
      foreignApps: [10],
      foreignAssets: [11],
      boxes: [{ appIndex: 9, name: new Uint8Array([5]) }],
    }),
    algosdk.makeApplicationCreateTxnFromObject({
      ...common,
      onComplete: algosdk.OnApplicationComplete.NoOpOC,
      approvalProgram: new Uint8Array([6, 129, 1]),
      clearProgram: new Uint8Array([6, 129, 1]),
      numGlobalInts: 1,
      numGlobalByteSlices: 2,
      numLocalInts: 3,
      numLocalByteSlices: 4,
      extraPages: 1,
    }),
  ]
}
