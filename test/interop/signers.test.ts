/** Signs transactions of unmodified algosdk and AlgoKit with a key in the daemon, and confirms them on the devnet. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AlgorandClient, algo, Config } from '@algorandfoundation/algokit-utils'
import type { Devnet } from '@latchkey/devnet'
import { Kmd, KmdClientError, type Wallet } from '@latchkey/kmd-client'
import * as AlgoKit from '@latchkey/kmd-client/algokit'
import { multisigTransactionSigner, transactionSigner } from '@latchkey/kmd-client/algosdk'
import * as algosdk from 'algosdk'
import { accountOf, clientOf, startDevnet } from '../devnet/start.test.helper.js'
import { startHostedDaemon } from '../support/daemon.test.helper.js'

const silent = { error() {}, warn() {}, info() {}, verbose() {}, debug() {} }
Config.configure({ logger: silent })

type Setup = { devnet: Devnet; algod: algosdk.Algodv2; wallet: Wallet; passwordCalls: () => number }

async function setUp(t: TestContext): Promise<Setup> {
  const [devnet, daemon] = await Promise.all([startDevnet(t), startHostedDaemon()])
  t.after(() => daemon.stop())
  const kmd = await Kmd.connect({ address: daemon.address, token: daemon.token })
  await kmd.wallets.create({ name: 'w', password: 'secret' })
  let calls = 0
  const password = (): string => {
    calls++
    return 'secret'
  }
  const wallet = await kmd.unlock({ name: 'w', password })
  t.after(() => wallet.release())
  return { devnet, algod: clientOf(devnet), wallet, passwordCalls: () => calls }
}

/** Sends money from a devnet account. */
async function fund({ devnet, algod }: Setup, receiver: string, microAlgos = 2_000_000): Promise<void> {
  const sender = accountOf(devnet.accounts[0]!)
  const txn = await payment(algod, String(sender.addr), receiver, microAlgos)
  const { txid } = await algod.sendRawTransaction(txn.signTxn(sender.sk)).do()
  await algosdk.waitForConfirmation(algod, txid, 5)
}

async function payment(
  algod: algosdk.Algodv2,
  sender: string,
  receiver: string,
  amount: number,
  rekeyTo?: string,
): Promise<algosdk.Transaction> {
  const suggestedParams = await algod.getTransactionParams().do()
  const note = crypto.getRandomValues(new Uint8Array(8))
  const rekey = rekeyTo === undefined ? {} : { rekeyTo }
  return algosdk.makePaymentTxnWithSuggestedParamsFromObject({
    sender,
    receiver,
    amount,
    suggestedParams,
    note,
    ...rekey,
  })
}

const balance = async ({ algod }: Setup, address: string): Promise<bigint> =>
  (await algod.accountInformation(address).do()).amount

test("algosdk's atomic transaction composer sends a group that the daemon signs", async (t) => {
  const setup = await setUp(t)
  const { algod, wallet, passwordCalls, devnet } = setup
  const [from, to] = [await wallet.generateKey(), await wallet.generateKey()]
  await fund(setup, from)
  const before = passwordCalls()
  const composer = new algosdk.AtomicTransactionComposer()
  const own = accountOf(devnet.accounts[1]!)
  const signer = transactionSigner(wallet)
  composer.addTransaction({ txn: await payment(algod, from, to, 300_000), signer })
  composer.addTransaction({
    txn: await payment(algod, String(own.addr), to, 200_000),
    signer: algosdk.makeBasicAccountTransactionSigner(own),
  })
  composer.addTransaction({ txn: await payment(algod, from, to, 100_000), signer })
  const { txIDs } = await composer.execute(algod, 5)
  assert.equal(txIDs.length, 3)
  assert.equal(await balance(setup, to), 600_000n)
  assert.equal(passwordCalls() - before, 2)
})

test('signs for a rekeyed account with its key in the daemon', async (t) => {
  const setup = await setUp(t)
  const { algod, wallet } = setup
  const [account, auth] = [await wallet.generateKey(), await wallet.generateKey()]
  await fund(setup, account)
  const send = async (signer: algosdk.TransactionSigner, rekeyTo?: string): Promise<void> => {
    const composer = new algosdk.AtomicTransactionComposer()
    composer.addTransaction({ txn: await payment(algod, account, auth, 200_000, rekeyTo), signer })
    await composer.execute(algod, 5)
  }
  await send(transactionSigner(wallet), auth)
  await assert.rejects(send(transactionSigner(wallet)), /should have been authorized by/)
  await send(transactionSigner(wallet, auth))
  assert.equal(await balance(setup, auth), 400_000n)
})

test('signs for a multisig, and for an account rekeyed to it, with the keys of its members', async (t) => {
  const setup = await setUp(t)
  const { algod, wallet } = setup
  const keys = [await wallet.generateKey(), String(algosdk.generateAccount().addr), await wallet.generateKey()]
  const multisig = await wallet.importMultisig({ threshold: 2, publicKeys: keys })
  const account = await wallet.generateKey()
  await fund(setup, multisig)
  await fund(setup, account)
  const send = async (from: string, signer: algosdk.TransactionSigner, rekeyTo?: string): Promise<void> => {
    const composer = new algosdk.AtomicTransactionComposer()
    composer.addTransaction({ txn: await payment(algod, from, keys[1]!, 200_000, rekeyTo), signer })
    await composer.execute(algod, 5)
  }
  const signer = multisigTransactionSigner(wallet, multisig)
  await send(multisig, signer)
  await send(account, transactionSigner(wallet), multisig)
  await send(account, signer)
  assert.equal(await balance(setup, keys[1]!), 600_000n)
  const three = await wallet.importMultisig({ threshold: 3, publicKeys: keys })
  const incomplete = multisigTransactionSigner(wallet, three)
  const transactions = [await payment(algod, three, account, 1)]
  await assert.rejects(
    incomplete(transactions, [0]),
    (error) => error instanceof KmdClientError && error.code === 'multisig_incomplete',
  )
  await assert.rejects(signer(transactions, [1]), { code: 'invalid_argument' })
})

test('AlgoKit sends payments that the daemon signs, also for rekeyed and multisig accounts', async (t) => {
  const setup = await setUp(t)
  const { devnet, wallet } = setup
  const algorand = AlgorandClient.fromConfig({ algodConfig: { server: devnet.url, token: devnet.token ?? '' } })
  algorand.setSuggestedParamsCacheTimeout(0)
  const [from, to, auth] = [await wallet.generateKey(), await wallet.generateKey(), await wallet.generateKey()]
  await fund(setup, from)
  algorand.account.setSigner(from, AlgoKit.transactionSigner(wallet))
  await algorand.send.payment({ sender: from, receiver: to, amount: algo(0.2) })
  await algorand
    .newGroup()
    .addPayment({ sender: from, receiver: to, amount: algo(0.1) })
    .addPayment({ sender: from, receiver: to, amount: algo(0.1), rekeyTo: auth })
    .send()
  algorand.account.setSigner(from, AlgoKit.transactionSigner(wallet, auth))
  await algorand.send.payment({ sender: from, receiver: to, amount: algo(0.2) })
  assert.equal(await balance(setup, to), 600_000n)
  const multisig = await wallet.importMultisig({ threshold: 2, publicKeys: [from, to] })
  await fund(setup, multisig)
  algorand.account.setSigner(multisig, AlgoKit.multisigTransactionSigner(wallet, multisig))
  await algorand.send.payment({ sender: multisig, receiver: to, amount: algo(0.4) })
  assert.equal(await balance(setup, to), 1_000_000n)
})
