/** Tests every rejection that depends on the state, with a node's message. */
import { test } from 'node:test'
import { Hash, Transaction } from '@latchkey/algorand'
import {
  createAsset,
  type ExpectedRejection,
  expectRejection,
  fund,
  type Person,
  personOf,
  sign,
  signGroup,
  TestNode,
} from '../testing/TestNode.test.helper.js'
import * as MapKey from './MapKey.js'

type Txn = Transaction.Transaction
type Fields = Partial<Txn>

/** Alice created `asset` with herself as all four addresses, and `plain` with none. */
type Scene = {
  node: TestNode
  alice: Person
  /** Holds 100 of `asset`. */
  bob: Person
  /** Holds 0 of `plain`. */
  carol: Person
  /** Holds no asset, and 200,000 microAlgos. */
  poor: Person
  /** Does not exist. */
  ghost: Person
  asset: bigint
  plain: bigint
}

const filled = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
const missing = 999_999n
const zeroAddress = MapKey.address(MapKey.zero)

async function scene(): Promise<Scene> {
  const node = new TestNode()
  const alice = node.funded(0)
  const [bob, carol, poor, ghost] = [personOf(31), personOf(32), personOf(33), personOf(34)]
  const { publicKey } = alice
  const asset = await createAsset(node, alice, { t: 1000n, m: publicKey, r: publicKey, f: publicKey, c: publicKey })
  const plain = await createAsset(node, alice, { t: 10n })
  fund(node, bob, 10_000_000n, [{ assetId: asset, amount: 100n }])
  fund(node, carol, 10_000_000n, [{ assetId: plain, amount: 0n }])
  fund(node, poor, 200_000n)
  return { node, alice, bob, carol, poor, ghost, asset, plain }
}

type Built = { from: Person; type?: string; fields: Fields; reason: string; kind?: 'bare' | 'state' }
type Case = (scene: Scene) => Built | Promise<Built>

async function freeze({ node, alice, asset }: Scene, who: Person): Promise<void> {
  await node.send(sign(node.txn('afrz', alice, { faid: asset, fadd: who.publicKey, afrz: true }), alice))
}

async function hold({ node, asset }: Scene, who: Person): Promise<void> {
  await node.send(sign(node.txn('axfer', who, { xaid: asset, arcv: who.publicKey }), who))
}

const overspend = ({ address }: Person, has: string, spends: string): string =>
  `overspend (account ${address}, data {MicroAlgos:${has}}, tried to spend ${spends})`

const payments: { readonly [title: string]: Case } = {
  'more than the balance': ({ poor, bob }) => ({
    from: poor,
    fields: { rcv: bob.publicKey, amt: 1_000_000n },
    reason: overspend(poor, '199mA', '1A'),
  }),
  'more than the balance after the fee': ({ poor, bob }) => ({
    from: poor,
    fields: { rcv: bob.publicKey, amt: 199_500n },
    reason: overspend(poor, '199mA', '199.500mA'),
  }),
  'the fee of an account without Algos': ({ ghost }) => ({
    from: ghost,
    fields: {},
    reason: overspend(ghost, '0.0A', '1mA'),
  }),
  'the largest amount': ({ poor }) => ({
    from: poor,
    fields: { fee: 2n ** 64n - 1n },
    reason: overspend(poor, '200mA', '18446744073709.551615A'),
  }),
  'too little left': ({ poor, bob }) => ({
    from: poor,
    fields: { rcv: bob.publicKey, amt: 150_000n },
    reason: `account ${poor.address} balance 49000 below min 100000 (0 assets)`,
  }),
  'too little left for an asset': ({ bob, alice }) => ({
    from: bob,
    fields: { rcv: alice.publicKey, amt: 9_800_000n },
    reason: `account ${bob.address} balance 199000 below min 200000 (1 assets)`,
  }),
  'too little for a new account': ({ bob, ghost }) => ({
    from: bob,
    fields: { rcv: ghost.publicKey, amt: 99_999n },
    reason: `account ${ghost.address} balance 99999 below min 100000 (0 assets)`,
  }),
  'too little for the zero address': ({ bob }) => ({
    from: bob,
    fields: { amt: 1n },
    reason: `account ${zeroAddress} balance 1 below min 100000 (0 assets)`,
  }),
  'closing an account that holds an asset': ({ bob, alice }) => ({
    from: bob,
    fields: { close: alice.publicKey },
    reason: 'cannot close: 1 outstanding assets',
  }),
  'closing an account that created assets': ({ alice, bob }) => ({
    from: alice,
    fields: { close: bob.publicKey },
    reason: 'cannot close: 4 outstanding assets',
  }),
}

const transfers: { readonly [title: string]: Case } = {
  'opt-in to an unknown asset': ({ poor }) => ({
    from: poor,
    fields: { xaid: missing, arcv: poor.publicKey },
    reason: `asset ${missing} does not exist or has been deleted`,
  }),
  'opt-in to asset 0': ({ poor }) => ({
    from: poor,
    fields: { arcv: poor.publicKey },
    reason: 'asset 0 does not exist or has been deleted',
  }),
  'opt-in without the Algos': ({ poor, asset }) => ({
    from: poor,
    fields: { xaid: asset, arcv: poor.publicKey },
    reason: `account ${poor.address} balance 199000 below min 200000 (1 assets)`,
  }),
  'by an account that is not opted in': ({ carol, bob, asset }) => ({
    from: carol,
    fields: { xaid: asset, arcv: bob.publicKey, aamt: 1n },
    reason: `asset ${asset} missing from ${personOf(32).address}`,
  }),
  'of an unknown asset': ({ carol, bob }) => ({
    from: carol,
    fields: { xaid: missing, arcv: bob.publicKey, aamt: 1n },
    reason: `asset ${missing} missing from ${carol.address}`,
  }),
  'of more than the holding': ({ bob, alice, asset }) => ({
    from: bob,
    fields: { xaid: asset, arcv: alice.publicKey, aamt: 101n },
    reason: 'underflow on subtracting 101 from sender amount 100',
  }),
  'of more than the holding, to itself': ({ bob, asset }) => ({
    from: bob,
    fields: { xaid: asset, arcv: bob.publicKey, aamt: 101n },
    reason: 'underflow on subtracting 101 from sender amount 100',
  }),
  'to an account that is not opted in': ({ bob, carol, asset }) => ({
    from: bob,
    fields: { xaid: asset, arcv: carol.publicKey, aamt: 1n },
    reason: `receiver error: must optin, asset ${asset} missing from ${carol.address}`,
  }),
  'out of a frozen holding': async (scene) => {
    await freeze(scene, scene.bob)
    return {
      from: scene.bob,
      fields: { xaid: scene.asset, arcv: scene.alice.publicKey, aamt: 1n },
      reason: `asset ${scene.asset} frozen in ${scene.bob.address}`,
    }
  },
  'into a frozen holding': async (scene) => {
    await freeze(scene, scene.bob)
    return {
      from: scene.alice,
      fields: { xaid: scene.asset, arcv: scene.bob.publicKey, aamt: 1n },
      reason: 'asset frozen in recipient',
    }
  },
}

const clawbacks: { readonly [title: string]: Case } = {
  'by another account': ({ bob, alice, asset }) => ({
    from: bob,
    fields: { xaid: asset, asnd: alice.publicKey, arcv: bob.publicKey, aamt: 1n },
    reason: `clawback not allowed: sender ${bob.address}, clawback ${alice.address}`,
  }),
  'without an address that may': ({ alice, carol, plain }) => ({
    from: alice,
    fields: { xaid: plain, asnd: carol.publicKey, arcv: alice.publicKey },
    reason: `clawback not allowed: sender ${alice.address}, clawback ${zeroAddress}`,
  }),
  'of an unknown asset': ({ alice, bob }) => ({
    from: alice,
    fields: { xaid: missing, asnd: bob.publicKey, arcv: alice.publicKey },
    reason: `asset ${missing} does not exist or has been deleted`,
  }),
  'of more than the holding': ({ alice, bob, asset }) => ({
    from: alice,
    fields: { xaid: asset, asnd: bob.publicKey, arcv: alice.publicKey, aamt: 101n },
    reason: 'underflow on subtracting 101 from sender amount 100',
  }),
  'from an account that is not opted in': ({ alice, carol, asset }) => ({
    from: alice,
    fields: { xaid: asset, asnd: carol.publicKey, arcv: alice.publicKey, aamt: 1n },
    reason: `asset ${asset} missing from ${carol.address}`,
  }),
  'to an account that is not opted in': ({ alice, bob, carol, asset }) => ({
    from: alice,
    fields: { xaid: asset, asnd: bob.publicKey, arcv: carol.publicKey, aamt: 1n },
    reason: `receiver error: must optin, asset ${asset} missing from ${carol.address}`,
  }),
}

const closings: { readonly [title: string]: Case } = {
  'by its creator': ({ alice, bob, asset }) => ({
    from: alice,
    fields: { xaid: asset, aclose: bob.publicKey },
    reason: 'cannot close asset ID in allocating account',
  }),
  'by an account without holdings': ({ poor, alice, asset }) => ({
    from: poor,
    fields: { xaid: asset, aclose: alice.publicKey },
    reason: `cannot close asset holding on account ${poor.address} : account is not opted in asset ${asset} `,
  }),
  'by an account with other holdings': ({ carol, alice, asset }) => ({
    from: carol,
    fields: { xaid: asset, aclose: alice.publicKey },
    reason: `asset ${asset} not present in account ${carol.address}`,
  }),
  'to an account that is not opted in': ({ bob, carol, asset }) => ({
    from: bob,
    fields: { xaid: asset, aclose: carol.publicKey },
    reason: `receiver error: must optin, asset ${asset} missing from ${carol.address}`,
  }),
  'to itself': ({ bob, asset }) => ({
    from: bob,
    fields: { xaid: asset, aclose: bob.publicKey },
    reason: `asset ${asset} not zero (100) after closing`,
  }),
  'of a frozen holding to an account other than the creator': async (scene) => {
    await hold(scene, scene.carol)
    await freeze(scene, scene.bob)
    return {
      from: scene.bob,
      fields: { xaid: scene.asset, aclose: scene.carol.publicKey },
      reason: `asset ${scene.asset} frozen in ${scene.bob.address}`,
    }
  },
  'of a frozen holding to the creator, after a transfer': async (scene) => {
    await freeze(scene, scene.bob)
    const { alice, asset, bob } = scene
    return {
      from: bob,
      fields: { xaid: asset, arcv: alice.publicKey, aamt: 1n, aclose: alice.publicKey },
      reason: `asset ${asset} frozen in ${bob.address}`,
    }
  },
}

const byManager = 'this transaction should be issued by the manager.'

const configurations: { readonly [title: string]: Case } = {
  'changing an unknown asset': ({ alice }) => ({
    from: alice,
    fields: { caid: missing, apar: { m: alice.publicKey } },
    reason: `asset ${missing} does not exist or has been deleted`,
  }),
  'destroying an unknown asset': ({ alice }) => ({
    from: alice,
    fields: { caid: missing },
    reason: `asset ${missing} does not exist or has been deleted`,
  }),
  'changing by another account': ({ bob, alice, asset }) => ({
    from: bob,
    fields: { caid: asset, apar: { m: bob.publicKey } },
    reason: `${byManager} It is issued by ${bob.address}, manager key ${alice.address}`,
  }),
  'destroying by another account': ({ bob, alice, asset }) => ({
    from: bob,
    fields: { caid: asset },
    reason: `${byManager} It is issued by ${bob.address}, manager key ${alice.address}`,
  }),
  'changing an asset without manager': ({ alice, plain }) => ({
    from: alice,
    fields: { caid: plain, apar: { m: alice.publicKey } },
    reason: `${byManager} It is issued by ${alice.address}, manager key ${zeroAddress}`,
  }),
  'destroying an asset that others hold': ({ alice, asset }) => ({
    from: alice,
    fields: { caid: asset },
    reason: 'cannot destroy asset: creator is holding only 900/1000',
  }),
  'creating one without the Algos': ({ poor }) => ({
    from: poor,
    fields: { apar: { t: 1n } },
    reason: `account ${poor.address} balance 199000 below min 200000 (1 assets)`,
  }),
}

const freezes: { readonly [title: string]: Case } = {
  'of an unknown asset': ({ alice, bob }) => ({
    from: alice,
    fields: { faid: missing, fadd: bob.publicKey, afrz: true },
    reason: `asset ${missing} does not exist or has been deleted`,
  }),
  'by another account': ({ bob, alice, asset }) => ({
    from: bob,
    fields: { faid: asset, fadd: alice.publicKey, afrz: true },
    reason: `freeze not allowed: sender ${bob.address}, freeze ${alice.address}`,
  }),
  'without an address that may': ({ alice, carol, plain }) => ({
    from: alice,
    fields: { faid: plain, fadd: carol.publicKey, afrz: true },
    reason: `freeze not allowed: sender ${alice.address}, freeze ${zeroAddress}`,
  }),
  'of an account that is not opted in': ({ alice, carol, asset }) => ({
    from: alice,
    fields: { faid: asset, fadd: carol.publicKey, afrz: true },
    reason: 'asset not found in account',
  }),
}

const keys: Fields = { votekey: filled(1), selkey: filled(2), sprfkey: filled(3, 64), votekd: 10n, votelst: 900n }
const markOnline = 'transaction tries to mark an account as online with'

async function leave({ node, bob }: Scene): Promise<string> {
  await node.send(sign(node.txn('keyreg', bob, { nonpart: true }), bob))
  return `cannot change online/offline status of non-participating account ${bob.address}`
}

const registrations: { readonly [title: string]: Case } = {
  'online after nonparticipation': async (scene) => ({ from: scene.bob, fields: keys, reason: await leave(scene) }),
  'offline after nonparticipation': async (scene) => ({ from: scene.bob, fields: {}, reason: await leave(scene) }),
  'a last round that is the current one': ({ bob, node }) => ({
    from: bob,
    fields: { ...keys, votelst: node.ledger.last.round + 1n },
    reason: `${markOnline} last voting round in the past`,
  }),
  'a first round after the next': ({ bob, node }) => ({
    from: bob,
    fields: { ...keys, votefst: node.ledger.last.round + 3n },
    reason: `${markOnline} first voting round beyond the next voting round`,
  }),
}

const leased = (lx: Uint8Array, who: Person, node: TestNode): Fields => ({
  lx,
  lv: node.ledger.last.round + 5n,
  rcv: who.publicKey,
})

const anyType: { readonly [title: string]: Case } = {
  'expired since the last round': ({ node, bob }) => ({
    from: bob,
    fields: { fv: 1n, lv: 2n },
    kind: 'bare',
    reason: `txn dead: round ${node.ledger.last.round + 1n} outside of 1--2`,
  }),
  'valid only after the next round': ({ bob }) => ({
    from: bob,
    fields: { fv: 4n, lv: 10n },
    kind: 'bare',
    reason: 'txn dead: round 3 outside of 4--10',
  }),
  'the genesis id of another network': ({ bob }) => ({
    from: bob,
    fields: { gen: 'foo-v1' },
    kind: 'bare',
    reason: 'tx.GenesisID <foo-v1> does not match expected <dockernet-v1>',
  }),
  'the genesis hash of another network': ({ bob, node }) => ({
    from: bob,
    fields: { gh: filled(9) },
    kind: 'bare',
    reason: `tx.GenesisHash <${Hash.toText(filled(9))}> does not match expected <${Hash.toText(MapKey.bytes(node.genesis.chain.genesisHash))}>`,
  }),
  'no genesis hash': ({ bob }) => ({
    from: bob,
    fields: { gh: undefined },
    kind: 'bare',
    reason: 'required tx.GenesisHash is missing',
  }),
  'a duplicate': async ({ node, bob }) => {
    const txn = node.pay(bob, bob, 1n)
    await node.send(sign(txn, bob))
    return { from: bob, fields: txn, kind: 'bare', reason: `transaction already in ledger: ${Transaction.id(txn)}` }
  },
  'a lease that another transaction holds': async ({ node, bob }) => {
    await node.send(sign(node.txn('pay', bob, leased(filled(5), bob, node)), bob))
    const txn = node.txn('pay', bob, leased(filled(5), bob, node))
    const holder = `(${bob.address}, ${MapKey.address(MapKey.of(filled(5)))})`
    const reason = `transaction ${Transaction.id(txn)} using an overlapping lease (sender, lease):${holder}`
    return { from: bob, fields: txn, kind: 'bare', reason }
  },
  'a fee too low': ({ bob }) => ({
    from: bob,
    fields: { fee: 999n },
    kind: 'bare',
    reason: 'txgroup with 999uA fees is less than 1mA (usage=1.000000 * base=1mA)',
  }),
  'no fee': ({ bob }) => ({
    from: bob,
    fields: { fee: undefined },
    kind: 'bare',
    reason: 'txgroup with 0.0A fees is less than 1mA (usage=1.000000 * base=1mA)',
  }),
  'a fee too low for its note': ({ bob }) => ({
    from: bob,
    fields: { fee: 1099n, note: filled(1, 2024) },
    kind: 'bare',
    reason: 'txgroup with 1.099mA fees is less than 1.100mA (usage=1.100000 * base=1mA)',
  }),
}

const tables = { pay: payments, axfer: { ...transfers }, clawback: clawbacks, closing: closings, acfg: configurations }
const all = { ...tables, afrz: freezes, keyreg: registrations, any: anyType }
const types: { readonly [table: string]: string } = { clawback: 'axfer', closing: 'axfer', any: 'pay' }

for (const [table, cases] of Object.entries(all)) {
  for (const [title, build] of Object.entries(cases)) {
    test(`${table}: ${title}`, async () => {
      const before = await scene()
      const { from, fields, reason, kind = 'state' } = await build(before)
      const { node, alice } = before
      const txn = node.txn(types[table] ?? table, from, fields)
      const expected: ExpectedRejection = { kind, reason }
      await expectRejection(node, [sign(txn, from)], expected)
      if (kind === 'bare') return
      // In a group it is reported at its index; the group id makes it another transaction.
      const second = signGroup([
        [node.pay(alice, alice, 1n), alice],
        [txn, from],
      ])
      await expectRejection(node, second, { ...expected, at: 1 })
    })
  }
}
