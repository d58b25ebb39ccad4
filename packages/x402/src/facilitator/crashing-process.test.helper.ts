/** A separate process that is killed while settling, just before the transaction is sent to the node. */
import { FakeNode, ok } from '../../../algod/dist/FakeNode.test.helper.js'
import { sponsor, sponsored } from '../../../x402-wire/dist/payments.test.helper.js'
import * as Signer from '../signer/Signer.js'
import { Facilitator } from './Facilitator.js'
import { openChain } from './setup.test.helper.js'
import { SqliteSettlements } from './store/sqlite/SqliteSettlements.js'

const node = new FakeNode()
node.on('POST submit', () => {
  process.kill(process.pid, 'SIGKILL')
  return ok({})
})
const facilitator = new Facilitator({
  chains: [await openChain(node)],
  feePayer: Signer.fromSeed(sponsor.seed),
  store: new SqliteSettlements(process.argv[2]!),
})
const { payload, requirements } = sponsored()
await facilitator.settle(payload, requirements)
