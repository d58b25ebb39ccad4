/** Applications on a devnet without a port. */
import type { Transaction } from '@latchkey/algorand'
import { appAddress } from '../ledger/programs/AppRecords.js'
import * as avm from '../ledger/programs/avm.js'
import { type Person, sign, type TestNode } from './TestNode.test.helper.js'

type Txn = Transaction.Transaction

/** Assembles a program of version 10, or of the version that its source names. */
export async function compile(source: string): Promise<Uint8Array> {
  const { assemble } = await avm.load()
  return assemble(source.startsWith('#pragma') ? source : `#pragma version 10\n${source}`).program
}

/** Creates an application, whose program is not run by its creation. Returns its id. */
export async function deploy(
  node: TestNode,
  creator: Person,
  source: string,
  fields: Partial<Txn> = {},
): Promise<bigint> {
  const txn = node.txn('appl', creator, {
    apap: await compile(`txn ApplicationID; bnz called; int 1; return; called:\n${source}`),
    apsu: await compile('int 1'),
    apgs: { nui: 16n, nbs: 16n },
    apls: { nui: 4n, nbs: 4n },
    ...fields,
  })
  await node.send(sign(txn, creator))
  return node.ledger.state.transactionCount()
}

/** Funds the account of an application. */
export function fundApplication(node: TestNode, appId: bigint, microAlgos = 100_000_000n): void {
  node.ledger.fund({ type: 'fund', to: appAddress(appId), microAlgos, assets: [] })
}
