/**
 * A program that calls an application until it is killed, and prints the number of calls that are on the disk. Each call
 * counts in the global state, in a box and with an inner payment.
 */
import { writeSync } from 'node:fs'
import { Submission } from '@latchkey/algorand'
import * as Genesis from '../ledger/Genesis.js'
import * as MapKey from '../ledger/MapKey.js'
import { appAddress } from '../ledger/programs/AppRecords.js'
import * as avm from '../ledger/programs/avm.js'
import { openLedger } from '../openLedger.js'
import { personOf, sign } from '../testing/TestNode.test.helper.js'

export const genesis = Genesis.make({ accountCount: 1 })
export const appId = 1001n
const alice = personOf(Buffer.from(genesis.accounts[0]!.secretKey, 'base64').subarray(0, 32))
const source = `#pragma version 10
  txn ApplicationID; bz end
  byte "n"; byte "n"; app_global_get; int 1; +; app_global_put
  byte "b"; int 1000; bzero; byte "n"; app_global_get; itob; replace2 0; box_put
  itxn_begin; int pay; itxn_field TypeEnum; txn Sender; itxn_field Receiver; int 1; itxn_field Amount; itxn_submit
  end: int 1`

const compactBytes = 20_000

const path = process.argv[2]
if (path !== undefined) {
  const { ledger, stateFile } = await openLedger({
    genesis,
    stateFile: path,
    compactBytes,
    tracksLifetimes: false,
    onCreate: () => {},
  })
  const { assemble } = await avm.load()
  const submit = (fields: object): void => {
    const round = ledger.last.round
    const common = { type: 'appl', snd: alice.publicKey, fee: 2000n, fv: round || undefined, lv: round + 1000n }
    const note = Buffer.from(`${ledger.state.transactionCount()} ${ledger.pendingGroups().length}`)
    const txn = { ...common, gh: MapKey.bytes(genesis.chain.genesisHash), note, ...fields }
    ledger.submit([Submission.decodeFirst(sign(txn, alice))])
  }
  if (ledger.state.application(appId) === undefined) {
    const apap = assemble(source).program
    submit({ apap, apsu: Uint8Array.of(10, 0x81, 1), apgs: { nui: 1n } })
    ledger.closeBlock()
    ledger.fund({ type: 'fund', to: appAddress(appId), microAlgos: 1_000_000_000n, assets: [] })
  }
  for (;;) {
    for (let call = 0; call < 3; call++) submit({ apid: appId, apbx: [{ n: Buffer.from('b') }] })
    ledger.closeBlock()
    await stateFile!.synced()
    writeSync(1, `${ledger.state.application(appId)!.globals.get('n')}\n`)
  }
}
