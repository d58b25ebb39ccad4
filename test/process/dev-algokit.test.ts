/** Runs programs made for AlgoKit's LocalNet, with only the environment of `latchkey dev`. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { temporaryDirectory } from './commands.test.helper.js'

/** Finds the dispenser by its status: the first account that is not offline and has more than 1,000 Algos. */
const byStatus = 'algokit-utils-9'
/** Finds the dispenser by its balance. */
const byBalance = '@algorandfoundation/algokit-utils'

const script = `
const { AlgorandClient, algo } = await import(process.env.PACKAGE)
const { algorandFixture } = await import(process.env.PACKAGE + '/testing')
const { Config } = await import(process.env.PACKAGE)
Config.configure({ logger: { verbose() {}, debug() {}, info() {}, warn() {}, error() {} } })
// Tools find the dispenser in the wallet; with its mnemonic they would not need to look.
delete process.env.DISPENSER_MNEMONIC
const algorand = AlgorandClient.fromEnvironment()
const dispenser = await algorand.account.localNetDispenser()
const fromEnvironment = await algorand.account.dispenserFromEnvironment()
const alice = await algorand.account.fromEnvironment('ALICE', algo(20))
const again = await algorand.account.fromEnvironment('ALICE', algo(20))
const { assetId } = await algorand.send.assetCreate({ sender: dispenser, total: 10n, decimals: 0 })
const { confirmation } = await algorand.send.payment({ sender: dispenser, receiver: alice, amount: algo(1) })
const fixture = algorandFixture()
await fixture.newScope()
const { testAccount } = fixture.context
const sent = await fixture.context.algorand.send.payment({ sender: testAccount, receiver: testAccount, amount: algo(0) })
await fixture.context.waitForIndexer()
const indexed = await fixture.context.waitForIndexerTransaction(sent.txIds[0])
const ofAlice = await algorand.account.getInformation(alice)
const ofDispenser = await algorand.account.getInformation(dispenser)
const ofTest = await fixture.context.algorand.account.getInformation(testAccount)
console.log(JSON.stringify({
  dispenser: String(dispenser.addr),
  status: ofDispenser.status,
  sameDispenser: String(fromEnvironment.addr) === String(dispenser.addr),
  sameAlice: String(alice.addr) === String(again.addr),
  alice: String(ofAlice.balance.microAlgo),
  test: String(ofTest.balance.microAlgo),
  // Read from the node itself, because the clients' formats differ.
  created: (await (await fetch(process.env.ALGOD_URL + '/v2/accounts/' + dispenser.addr)).json())['created-assets'].map(({ index }) => index),
  asset: Number(assetId),
  indexed: indexed.transaction.id === sent.txIds[0],
  confirmed: confirmation.confirmedRound > 0n,
}))
process.exit(0)
`

for (const name of [byStatus, byBalance]) {
  test(`${name} treats latchkey dev as LocalNet`, { timeout: 240_000 }, async (t) => {
    const env = { ...process.env, TMPDIR: temporaryDirectory(t), PACKAGE: name }
    const program = [process.execPath, '--input-type=module', '-e', script]
    const [stdout, stderr] = await new Promise<string[]>((resolve) => {
      const args = [latchkeyCommand, 'dev', '--any-port', '--', ...program]
      execFile(process.execPath, args, { env, timeout: 200_000 }, (_, out, err) => resolve([out, err]))
    })
    assert.match(stdout!, /^\{.*\}\n$/, stderr)
    const { dispenser, asset, ...rest } = JSON.parse(stdout!) as { [name: string]: unknown }
    assert.match(String(dispenser), /^[A-Z2-7]{58}$/)
    assert.deepEqual(rest, {
      status: 'Online',
      sameDispenser: true,
      sameAlice: true,
      alice: '21000000',
      test: '9999000',
      created: [asset],
      indexed: true,
      confirmed: true,
    })
  })
}
