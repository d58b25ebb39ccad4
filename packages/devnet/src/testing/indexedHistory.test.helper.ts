/** A ledger with a transaction of every kind, each identified by a name. */
import { Address, Group, Hash, Multisig, type Transaction } from '@latchkey/algorand'
import * as MapKey from '../ledger/MapKey.js'
import { IndexerNode } from './IndexerNode.test.helper.js'
import { fund, type Person, personOf, sign, signMultisig, type TestNodeOptions } from './TestNode.test.helper.js'

type Txn = Transaction.Transaction

export const [alice, bob, carol] = [personOf(1), personOf(2), personOf(3)] as const
export const joint = { version: 1, threshold: 1, publicKeys: [alice.publicKey, bob.publicKey] }
export const jointAddress = Address.encode(Multisig.address(joint))

export type IndexedHistory = {
  readonly node: IndexerNode
  readonly assetId: bigint
  readonly groupId: Uint8Array
  /** Ids of the transactions by name, in order. */
  readonly ids: ReadonlyMap<string, string>
  /** The names of these ids. */
  readonly names: (ids: readonly string[]) => string[]
  readonly roundOf: (name: string) => bigint
}

const note = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))

export async function indexedHistory(options: TestNodeOptions = {}): Promise<IndexedHistory> {
  const node = new IndexerNode(options)
  for (const one of [alice, bob, carol]) fund(node, one, 100_000_000n)
  const ids = new Map<string, string>()
  const rounds = new Map<string, bigint>()
  const add = async (name: string, signed: Uint8Array): Promise<void> => {
    ids.set(name, await node.send(signed))
    rounds.set(name, node.ledger.last.round)
  }
  const send = (name: string, txn: Txn, signer: Person): Promise<void> => add(name, sign(txn, signer))
  await send('pay', node.pay(alice, bob, 1_000n, { note: note('invoice 1') }), alice)
  await send('zero', node.pay(alice, bob, 0n, { note: note('invoice 2'), lx: new Uint8Array(32).fill(7) }), alice)
  const m = alice.publicKey
  await send('create', node.txn('acfg', alice, { apar: { t: 1_000n, un: 'TOK', an: 'Token', m, c: m, f: m } }), alice)
  const xaid = node.ledger.state.transactionCount()
  await send('opt in', node.txn('axfer', bob, { xaid, arcv: bob.publicKey }), bob)
  await send('transfer', node.txn('axfer', alice, { xaid, arcv: bob.publicKey, aamt: 300n }), alice)
  await send('freeze', node.txn('afrz', alice, { faid: xaid, fadd: bob.publicKey, afrz: true }), alice)
  await send('claw back', node.txn('axfer', alice, { xaid, asnd: bob.publicKey, arcv: m, aamt: 100n }), alice)
  await send('opt out', node.txn('axfer', bob, { xaid, arcv: m, aclose: m }), bob)
  await send('configure', node.txn('acfg', alice, { caid: xaid, apar: { m } }), alice)
  await send('destroy', node.txn('acfg', alice, { caid: xaid }), alice)
  await send('key registration', node.txn('keyreg', bob), bob)
  await send('close', node.pay(carol, bob, 5n, { close: alice.publicKey }), carol)
  await send('rekey', node.pay(bob, bob, 0n, { rekey: alice.publicKey }), bob)
  await send('rekeyed', node.pay(bob, alice, 1n), alice)
  const group = Group.assign([node.pay(alice, bob, 7n), node.pay(alice, bob, 8n)])
  await add('first of group', Buffer.concat(group.map((txn) => sign(txn, alice))))
  ids.set('second of group', Hash.toText(MapKey.bytes(node.ledger.last.transactions[1]!.key)))
  rounds.set('second of group', node.ledger.last.round)
  const jointKey = Multisig.address(joint)
  await send('fund joint', node.txn('pay', alice, { rcv: jointKey, amt: 1_000_000n }), alice)
  await add('joint', signMultisig(node.txn('pay', jointKey, { rcv: bob.publicKey, amt: 2n }), joint, [alice]))
  const byId = new Map([...ids].map(([name, id]) => [id, name]))
  return {
    node,
    assetId: xaid,
    groupId: group[0]!.grp!,
    ids,
    names: (some) => some.map((id) => byId.get(id) ?? id),
    roundOf: (name) => rounds.get(name)!,
  }
}
