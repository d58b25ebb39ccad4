/**
 * Tests unmodified clients with an agent's token in place of the API token: the JavaScript SDK, AlgoKit, the Python SDK
 * and curl. Within the limits they sign as usual; beyond them, each throws its own error with the daemon's message.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Address as AlgokitAddress } from '@algorandfoundation/algokit-utils'
import { KmdClient } from '@algorandfoundation/algokit-utils/kmd-client'
import { Transaction as AlgokitTransaction, TransactionType } from '@algorandfoundation/algokit-utils/transact'
import { Kmd } from '@latchkey/kmd-client'
import { transactionSigner } from '@latchkey/kmd-client/algosdk'
import * as algosdk from 'algosdk'
import { startDaemon, type TestDaemon } from '../support/daemon.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { assertSigned as assertSignedBy } from '../support/signatures.test.helper.js'

const genesisHash = Buffer.alloc(32, 7)
const network = genesisHash.toString('base64')
const password = 'owner password'
const within = 100_000n
const beyond = 100_000_000n

let daemon: TestDaemon
let walletId = ''
let otherWalletId = ''
let address = ''
let token = ''

before(async () => {
  daemon = await startDaemon()
  const owner = await Kmd.connect({ address: daemon.address, token: daemon.token })
  walletId = (await owner.wallets.create({ name: 'purse', password })).id
  otherWalletId = (await owner.wallets.create({ name: 'savings', password })).id
  const wallet = await owner.unlock({ id: walletId, password })
  address = await wallet.generateKey()
  await wallet.generateKey()
  const rules = {
    networks: [network],
    limits: [{ per: 'day', network, type: 'amount', assetId: 0n, amount: 2_000_000n }] as const,
    payees: { allow: 'all' } as const,
  }
  token = (await owner.agents.create({ name: 'shopper', walletId, password, addresses: [address], rules })).token
  owner.close()
})
after(() => daemon?.stop())

const port = (): number => Number(daemon.address.split(':')[1])

function payment(amount: bigint): algosdk.Transaction {
  return algosdk.makePaymentTxnWithSuggestedParamsFromObject({
    sender: address,
    receiver: address,
    amount,
    suggestedParams: {
      genesisHash,
      genesisID: 'agents-v1',
      fee: 1000,
      flatFee: true,
      minFee: 1000,
      firstValid: 1,
      lastValid: 1000,
    },
  })
}

/** Checks that the transaction is the requested one, signed by the agent's key. */
const assertSigned = (signed: Uint8Array, amount: bigint): void => assertSignedBy(signed, payment(amount), address)

const limitText = /2 ALGO\/day|limit/

test('algosdk', async () => {
  const kmd = new algosdk.Kmd(token, 'http://127.0.0.1', port())
  const { wallets } = await kmd.listWallets()
  assert.deepEqual(
    wallets.map(({ id }: { id: string }) => id),
    [walletId],
  )
  const { wallet_handle_token: handle } = await kmd.initWalletHandle(walletId, '')
  assert.deepEqual((await kmd.listKeys(handle)).addresses, [address])
  assert.equal((await kmd.getWallet(handle)).wallet_handle.wallet.name, 'purse')
  assertSigned(await kmd.signTransaction(handle, '', payment(within)), within)
  const key = algosdk.decodeAddress(address).publicKey
  assertSigned(await kmd.signTransactionWithSpecificPublicKey(handle, '', payment(within), key), within)
  await assert.rejects(kmd.signTransaction(handle, '', payment(beyond)), (error: Error & { response?: unknown }) => {
    const { status, body: bytes } = error.response as { status: number; body: Uint8Array }
    assert.equal(status, 403)
    const body = JSON.parse(Buffer.from(bytes).toString()) as { error: boolean; message: string }
    // The Go client's decoder refuses unknown members.
    assert.deepEqual(Object.keys(body).sort(), ['error', 'message'])
    assert.match(body.message, limitText)
    return true
  })
  const refused = { message: /403/ }
  await assert.rejects(kmd.exportKey(handle, '', address), refused)
  await assert.rejects(kmd.exportKey(handle, password, address), refused)
  await assert.rejects(kmd.exportMasterDerivationKey(handle, password), refused)
  await assert.rejects(kmd.generateKey(handle), refused)
  await assert.rejects(kmd.deleteKey(handle, password, address), refused)
  await assert.rejects(kmd.renameWallet(walletId, password, 'mine'), refused)
  await assert.rejects(kmd.createWallet('another', ''), refused)
  await assert.rejects(kmd.initWalletHandle(otherWalletId, password), refused)
  await kmd.renewWalletHandle(handle)
  assert.deepEqual(await kmd.releaseWalletHandle(handle), {})
  await assert.rejects(kmd.signTransaction(handle, '', payment(within)), { message: /401/ })
})

test('AlgoKit', async () => {
  const kmd = new KmdClient({ baseUrl: daemon.baseUrl, token })
  const { wallets } = await kmd.listWallets()
  assert.deepEqual(
    wallets.map(({ id }) => id),
    [walletId],
  )
  const { walletHandleToken } = await kmd.initWalletHandle({ walletId, walletPassword: '' })
  const handle = { walletHandleToken }
  assert.deepEqual((await kmd.listKeysInWallet(handle)).addresses.map(String), [address])
  const transactionOf = (amount: bigint): AlgokitTransaction =>
    new AlgokitTransaction({
      ...{ type: TransactionType.Payment, sender: AlgokitAddress.fromString(address), fee: 1000n },
      ...{ firstValid: 1n, lastValid: 1000n, genesisHash: new Uint8Array(genesisHash), genesisId: 'agents-v1' },
      payment: { receiver: AlgokitAddress.fromString(address), amount },
    })
  const sign = (amount: bigint) =>
    kmd.signTransaction({ ...handle, walletPassword: '', transaction: transactionOf(amount) })
  assertSigned((await sign(within)).signedTransaction, within)
  await assert.rejects(sign(beyond), { message: /403/ })
  const exported = kmd.exportKey({ ...handle, walletPassword: '', address: AlgokitAddress.fromString(address) })
  await assert.rejects(exported, { message: /403/ })
})

test('our client and its signer for algosdk, without a password', async () => {
  const kmd = await Kmd.connect({ address: daemon.address, token })
  const wallet = await kmd.unlock({ name: 'purse' })
  const signer = transactionSigner(wallet)
  const [signed] = await signer([payment(within)], [0])
  assertSigned(signed!, within)
  await assert.rejects(signer([payment(beyond)], [0]), (error: { code?: string; refusal?: { rule: string } }) => {
    assert.deepEqual([error.code, error.refusal?.rule], ['agent_limit_exceeded', '2 ALGO/day'])
    return true
  })
  await wallet.release()
  kmd.close()
})

type Obtained = { python: string; problem?: undefined } | { problem: string }
const script = new URL('../../../scripts/obtain/python.mjs', import.meta.url)
const { obtainPython } = (await import(script.href)) as { obtainPython: (requirements: string) => Obtained }
const { python = '', problem } = { python: undefined, ...obtainPython('requirements-avm.txt') }

test('py-algorand-sdk', { skip: problem ?? false }, async () => {
  const program = fileURLToPath(new URL('../../interop/python/agent.py', import.meta.url))
  const env = {
    ...{ PATH: process.env['PATH'] ?? '', PYTHONDONTWRITEBYTECODE: '1', KMD_URL: daemon.baseUrl, AGENT_TOKEN: token },
    ...{ ADDRESS: address, GENESIS_HASH: network, OTHER_WALLET: otherWalletId, PASSWORD: password },
  }
  const { stdout } = await promisify(execFile)(python, [program], { env, timeout: 60_000 })
  const found = JSON.parse(stdout)
  assert.deepEqual([found.wallets, found.keys, found.released], [[walletId], [address], true])
  assertSigned(Buffer.from(found.within.ok, 'base64'), within)
  assert.equal(found.beyond.error, 'KMDHTTPError')
  assert.match(found.beyond.text, limitText)
  for (const step of ['export', 'generate']) {
    assert.deepEqual([step, found[step].error], [step, 'KMDHTTPError'])
    assert.match(found[step].text, /an agent may not use this operation/)
  }
  assert.match(found.other.text, /no access to this wallet/)
})

test('curl with a bearer token', { skip: missingProgram('curl') }, async () => {
  const curl = async (path: string): Promise<string> => {
    const args = ['-s', '-H', `Authorization: Bearer ${token}`, '-w', ' %{http_code}', `${daemon.baseUrl}${path}`]
    return (await promisify(execFile)('curl', args)).stdout
  }
  assert.match(await curl('/latchkey/v1/agent'), /"name": "shopper"[\s\S]* 200$/)
  assert.match(await curl('/latchkey/v1/agents'), / 403$/)
  assert.match(await curl('/latchkey/v1/metrics'), / 403$/)
})
