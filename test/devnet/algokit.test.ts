/** Tests the published AlgoKit client on the devnet. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import {
  AlgorandClient,
  type AVMTracesEventData,
  algo,
  Config,
  EventType,
  microAlgo,
  waitForConfirmation,
} from '@algorandfoundation/algokit-utils'
import { KmdClient } from '@algorandfoundation/algokit-utils/kmd-client'
import { Devnet, type DevnetOptions } from '@latchkey/devnet'
import { startHostedDaemon } from '../support/daemon.test.helper.js'
import { pause, startDevnet } from './start.test.helper.js'

const timeout = 300_000
const dollar = 10458941n

/** AlgoKit logs every error, and most tests here cause one. */
const silent = { error() {}, warn() {}, info() {}, verbose() {}, debug() {} }
Config.configure({ logger: silent })

type Setup = { devnet: Devnet; algorand: AlgorandClient; alice: string; bob: string }

async function setUp(t: TestContext, options: DevnetOptions = {}): Promise<Setup> {
  const devnet = await startDevnet(t, options)
  const algorand = AlgorandClient.fromConfig({ algodConfig: { server: devnet.url, token: devnet.token ?? '' } })
  // Equal transactions would have the same id.
  algorand.setSuggestedParamsCacheTimeout(0)
  const [alice, bob] = devnet.accounts.map(({ mnemonic }) => String(algorand.account.fromMnemonic(mnemonic).addr))
  return { devnet, algorand, alice: alice!, bob: bob! }
}

async function balance({ algorand }: Setup, address: string): Promise<bigint> {
  return (await algorand.account.getInformation(address)).balance.microAlgos
}

test('a payment is in a block when its submission returns', { timeout }, async (t) => {
  const setup = await setUp(t)
  const { algorand, alice, bob, devnet } = setup
  const had = await balance(setup, bob)
  const { confirmation, txIds } = await algorand.send.payment({ sender: alice, receiver: bob, amount: algo(2) })
  assert.deepEqual([confirmation.confirmedRound, txIds.length, devnet.round], [1n, 1, 1n])
  assert.equal(await balance(setup, bob), had + 2_000_000n)
})

test('creates, opts in to and transfers an asset', { timeout }, async (t) => {
  const { algorand, alice, bob } = await setUp(t)
  const { assetId } = await algorand.send.assetCreate({ sender: alice, total: 100n, decimals: 1, assetName: 'Kit' })
  await algorand.send.assetOptIn({ sender: bob, assetId })
  await algorand.send.assetTransfer({ sender: alice, receiver: bob, assetId, amount: 7n })
  const information = await algorand.asset.getById(assetId)
  assert.deepEqual(
    [information.total, information.decimals, information.assetName, String(information.creator)],
    [100n, 1, 'Kit', alice],
  )
  const held = await algorand.asset.getAccountInformation(bob, assetId)
  assert.deepEqual([held.balance, held.frozen], [7n, false])
  const { assets, totalAssetsOptedIn, minBalance } = await algorand.account.getInformation(bob)
  assert.deepEqual([totalAssetsOptedIn, minBalance.microAlgos], [3, 400_000n])
  assert.deepEqual(
    assets?.map(({ assetId }) => assetId),
    [assetId, dollar, 31566704n],
  )
})

test('sends a group whose fees one member pays', { timeout }, async (t) => {
  const setup = await setUp(t)
  const { algorand, alice, bob, devnet } = setup
  const outsider = algorand.account.random()
  const [aliceHad, bobHad] = [await balance(setup, alice), await balance(setup, bob)]
  const { confirmations, groupId, txIds } = await algorand
    .newGroup()
    .addPayment({ sender: alice, receiver: outsider, amount: algo(1), staticFee: microAlgo(3_000) })
    .addAssetTransfer({ sender: bob, receiver: alice, assetId: dollar, amount: 1_000n, staticFee: microAlgo(0) })
    .addAssetOptIn({ sender: outsider, assetId: dollar, staticFee: microAlgo(0) })
    .send()
  assert.equal(Buffer.from(groupId!, 'base64').length, 32)
  assert.deepEqual([txIds.length, devnet.round], [3, 1n])
  for (const { confirmedRound } of confirmations) assert.equal(confirmedRound, 1n)
  assert.deepEqual([await balance(setup, alice), await balance(setup, bob)], [aliceHad - 1_003_000n, bobHad])
})

test('simulates unsigned transactions, also of a rekeyed account', { timeout }, async (t) => {
  const setup = await setUp(t)
  const { algorand, alice, bob, devnet } = setup
  await algorand.account.rekeyAccount(alice, bob)
  const { round } = devnet
  const amount = algo(1)
  const group = () => algorand.newGroup().addPayment({ sender: alice, receiver: bob, amount })
  const { simulateResponse } = await group().simulate({ skipSignatures: true })
  const [result] = simulateResponse.txnGroups
  assert.equal(result!.failureMessage, undefined)
  assert.equal(String(result!.txnResults[0]!.fixedSigner), bob)
  assert.deepEqual(
    [simulateResponse.evalOverrides?.allowEmptySignatures, simulateResponse.evalOverrides?.fixSigners],
    [true, true],
  )
  const tooMuch = algorand.newGroup().addPayment({ sender: alice, receiver: bob, amount: algo(10_000_000) })
  await assert.rejects(tooMuch.simulate({ skipSignatures: true }), /failed at transaction\(s\) 0 .*overspend/)
  assert.equal(devnet.round, round)
})

test("a rejection has the node's message", { timeout }, async (t) => {
  const { algorand, alice, devnet } = await setUp(t)
  const outsider = algorand.account.random()
  const optIn = { sender: alice, receiver: outsider, assetId: dollar, amount: 1n }
  await assert.rejects(algorand.send.assetTransfer(optIn), (error: Error) => {
    assert.match(
      error.message,
      /^TransactionPool\.Remember: transaction [A-Z2-7]{52}: receiver error: must optin, asset/,
    )
    assert.equal((error.cause as { status?: number }).status, 400)
    return true
  })
  assert.equal(devnet.round, 0n)
})

type Simulated = AVMTracesEventData['simulateResponse']

test('simulates errors with traces in debug mode', { timeout }, async (t) => {
  const { algorand, alice, bob } = await setUp(t)
  const simulated: Simulated[] = []
  const listener = async (event: unknown) => void simulated.push((event as AVMTracesEventData).simulateResponse)
  Config.configure({ debug: true })
  Config.events.on(EventType.TxnGroupSimulated, listener)
  t.after(() => {
    Config.events.off(EventType.TxnGroupSimulated, listener)
    Config.configure({ debug: false })
  })
  const tooMuch = { sender: alice, receiver: bob, amount: algo(10_000_000) }
  await assert.rejects(algorand.send.payment(tooMuch), (error: Error & { traces: { message: string }[] }) => {
    assert.match(error.message, /^TransactionPool\.Remember: .*overspend/)
    assert.match(error.traces[0]!.message, /^transaction [A-Z2-7]{52}: overspend/)
    return true
  })
  assert.equal(simulated.length, 1)
  const [{ execTraceConfig, evalOverrides, txnGroups }] = simulated as [Simulated]
  assert.deepEqual({ ...execTraceConfig }, { enable: true, scratchChange: true, stackChange: true, stateChange: true })
  assert.deepEqual([evalOverrides?.maxLogCalls, evalOverrides?.fixSigners], [2048, true])
  assert.deepEqual(txnGroups[0]!.failedAt, [0])
})

test('retries', async (t) => {
  await t.test('does not retry a submission without a response, which took effect', { timeout }, async (t) => {
    const setup = await setUp(t)
    const { algorand, alice, bob, devnet } = setup
    const had = await balance(setup, bob)
    devnet.addFault({ type: 'drop', count: 1 })
    const sent = algorand.send.payment({ sender: alice, receiver: bob, amount: algo(1) })
    await assert.rejects(sent, (error: Error & { cause: Error }) => {
      assert.equal(error.message, 'fetch failed')
      assert.equal((error.cause.cause as { code?: string }).code, 'UND_ERR_SOCKET')
      return true
    })
    assert.equal(devnet.round, 1n)
    assert.equal(await balance(setup, bob), had + 1_000_000n)
  })

  await t.test('retries a submission whose connection was reset, which is then a duplicate', { timeout }, async (t) => {
    const setup = await setUp(t)
    const { alice, bob, devnet } = setup
    const had = await balance(setup, bob)
    const server = await startBreakingProxy(t, devnet)
    const algorand = AlgorandClient.fromConfig({ algodConfig: { server, token: '' } })
    algorand.account.fromMnemonic(devnet.accounts[0]!.mnemonic)
    const sent = algorand.send.payment({ sender: alice, receiver: bob, amount: algo(1) })
    await assert.rejects(sent, /transaction already in ledger: [A-Z2-7]{52}$/)
    assert.equal(devnet.round, 1n)
    assert.equal(await balance(setup, bob), had + 1_000_000n)
  })

  await t.test('retries a submission after 503, which takes effect once', { timeout }, async (t) => {
    const setup = await setUp(t)
    const { algorand, alice, bob, devnet } = setup
    const had = await balance(setup, bob)
    devnet.addFault({ type: 'fail', status: 503, message: 'out of order', count: 1 })
    const { confirmation } = await algorand.send.payment({ sender: alice, receiver: bob, amount: algo(1) })
    assert.deepEqual([confirmation.confirmedRound, devnet.round], [1n, 1n])
    assert.equal(await balance(setup, bob), had + 1_000_000n)
  })

  await t.test('does not retry a submission after 400', { timeout }, async (t) => {
    const { algorand, alice, bob, devnet } = await setUp(t)
    devnet.addFault({ type: 'fail', status: 400, message: 'refused for once', count: 1 })
    const sent = algorand.send.payment({ sender: alice, receiver: bob, amount: algo(1) })
    await assert.rejects(sent, { message: 'refused for once' })
    assert.equal(devnet.round, 0n)
  })
})

test('confirmations', async (t) => {
  await t.test('looks up a missing transaction again immediately', { timeout }, async (t) => {
    const { algorand, alice, bob, devnet } = await setUp(t)
    devnet.addFault({ type: 'lose', count: 3 })
    const { confirmation } = await algorand.send.payment({ sender: alice, receiver: bob, amount: algo(1) })
    assert.equal(confirmation.confirmedRound, 1n)
  })

  await t.test(
    'gives up after the given number of rounds, although the payment took effect',
    { timeout },
    async (t) => {
      const setup = await setUp(t)
      const { algorand, alice, bob, devnet } = setup
      const had = await balance(setup, bob)
      devnet.addFault({ type: 'lose', count: 5 })
      const sent = algorand.send.payment({
        sender: alice,
        receiver: bob,
        amount: algo(1),
        maxRoundsToWaitForConfirmation: 5,
      })
      await assert.rejects(sent, /^Error: Transaction [A-Z2-7]{52} not confirmed after 5 rounds$/)
      assert.equal(devnet.round, 1n)
      assert.equal(await balance(setup, bob), had + 1_000_000n)
    },
  )

  await t.test('waits for a held block', { timeout }, async (t) => {
    const { algorand, alice, bob, devnet } = await setUp(t)
    devnet.addFault({ type: 'hold', ms: 100, count: 1 })
    const payment = { sender: alice, receiver: bob, amount: algo(1), maxRoundsToWaitForConfirmation: 0 }
    const { txIds } = await algorand.send.payment(payment)
    assert.equal(devnet.round, 0n)
    // The call waits for the block after the next one, which another transaction makes.
    const waiting = waitForConfirmation(txIds[0]!, 5, algorand.client.algod)
    await pause(300)
    devnet.mine()
    assert.equal((await waiting).confirmedRound, 1n)
  })

  await t.test('waits for blocks at an interval', { timeout }, async (t) => {
    const { algorand, alice, bob } = await setUp(t, { blocks: { everyMs: 30 } })
    const { confirmation } = await algorand.send.payment({ sender: alice, receiver: bob, amount: algo(1) })
    assert.ok(confirmation.confirmedRound! > 0n)
  })
})

test('local network', async (t) => {
  const kmd = await startHostedDaemon()
  const devnet = await Devnet.start({ port: 0, token: kmd.token })
  const names = ['ALGOD_SERVER', 'ALGOD_PORT', 'ALGOD_TOKEN', 'KMD_PORT', 'DISPENSER_MNEMONIC'] as const
  const outer = names.map((name) => [name, process.env[name]] as const)

  t.after(async () => {
    for (const [name, value] of outer) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    await devnet.stop()
    await kmd.stop()
  })
  await importDispenser()
  t.beforeEach(() => {
    const { hostname, port } = new URL(devnet.url)
    process.env['ALGOD_SERVER'] = `http://${hostname}`
    process.env['ALGOD_PORT'] = port
    process.env['ALGOD_TOKEN'] = kmd.token
    process.env['KMD_PORT'] = kmd.address.split(':')[1]!
    delete process.env['DISPENSER_MNEMONIC']
  })

  /** Creates the wallet of a local network. */
  async function importDispenser(): Promise<void> {
    const client = new KmdClient({ baseUrl: kmd.baseUrl, token: kmd.token, maxRetries: 0 })
    const { wallet } = await client.createWallet({ walletName: 'unencrypted-default-wallet', walletPassword: '' })
    const handle = await client.initWalletHandle({ walletId: wallet.id, walletPassword: '' })
    const privateKey = new Uint8Array(Buffer.from(devnet.dispenser.secretKey, 'base64'))
    await client.importKey({ ...handle, privateKey })
  }

  await t.test('is recognized by its genesis id', { timeout }, async () => {
    const { client } = AlgorandClient.fromEnvironment()
    assert.deepEqual(
      [await client.isLocalNet(), await client.isTestNet(), await client.isMainNet()],
      [true, false, false],
    )
    const { genesisId, genesisHash } = await client.network()
    assert.deepEqual([genesisId, genesisHash], [devnet.genesisId, devnet.genesisHash])
  })

  await t.test('finds the dispenser by its mnemonic', { timeout }, async () => {
    process.env['DISPENSER_MNEMONIC'] = devnet.dispenser.mnemonic
    const algorand = AlgorandClient.fromEnvironment()
    const dispenser = await algorand.account.dispenserFromEnvironment()
    assert.equal(String(dispenser.addr), devnet.dispenser.address)
    const outsider = algorand.account.random()
    const funded = await algorand.account.ensureFundedFromEnvironment(outsider, algo(3))
    assert.equal(funded?.amountFunded.microAlgos, 3_100_000n)
    assert.equal((await algorand.account.getInformation(outsider)).balance.microAlgos, 3_100_000n)
  })

  await t.test('finds the dispenser in a kmd wallet', { timeout }, async () => {
    const algorand = AlgorandClient.fromEnvironment()
    const dispenser = await algorand.account.localNetDispenser()
    assert.equal(String(dispenser.addr), devnet.dispenser.address)
    const receiver = algorand.account.random()
    const { confirmation } = await algorand.send.payment({ sender: dispenser, receiver, amount: algo(1) })
    assert.equal(confirmation.confirmedRound, devnet.round)
  })

  await t.test('advances rounds and time', { timeout }, async () => {
    const algorand = AlgorandClient.fromEnvironment()
    algorand.setSuggestedParamsCacheTimeout(0)
    const { localNet } = algorand.network
    const round = devnet.round + 5n
    await localNet.blockWarp(round)
    assert.equal(devnet.round, round)
    const time = (await algorand.network.getLatestTimestamp()) + 86_400n
    await localNet.timeWarp(time)
    assert.equal(await algorand.network.getLatestTimestamp(), time)
  })
})

/** Starts a proxy that resets the connection of the first submission after it took effect. */
async function startBreakingProxy(t: TestContext, { url }: Devnet): Promise<string> {
  let isBroken = false
  const server = createServer(async (request, response) => {
    const sent = await buffer(request)
    const body = request.method === 'POST' ? { method: 'POST', body: new Uint8Array(sent) } : {}
    const answer = await fetch(`${url}${request.url}`, body)
    const received = Buffer.from(await answer.arrayBuffer())
    if (request.method === 'POST' && !isBroken) {
      isBroken = true
      request.socket.resetAndDestroy()
      return
    }
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type')! }).end(received)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
