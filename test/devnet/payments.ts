/** What can be done with Algos and keys alone. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import * as algosdk from 'algosdk'
import { by, type Step, type World } from './world.js'

/** Enough for everything below, and little enough for a funder on a public network. */
const startMicroAlgos = 1_000_000n
/** Long enough to be seen, short enough to be waited for. */
const leaseRounds = 30n

export const opening: readonly Step[] = [{ name: 'fund fresh accounts', run: fund }]

export const payments: readonly Step[] = [
  { name: 'rekey, simulate with fix-signers', run: rekey },
  { name: 'spend by the new key', run: spendByNewKey },
  { name: 'rekey back', run: rekeyBack },
  { name: 'spend from a 2-of-3 multisig account', run: spendFromMultisig },
  { name: 'lease', run: lease },
]

export const closing: readonly Step[] = [{ name: 'close the accounts back to the funder', run: closeAccounts }]

async function fund(world: World): Promise<bigint> {
  const { funder, issuer, buyer, seller } = world
  const accounts = [issuer, buyer, seller]
  for (const account of accounts) assert.equal(await world.microAlgos(account), 0n)
  const transactions = await Promise.all(accounts.map((account) => world.payment(funder, account, startMicroAlgos)))
  const { round } = await world.send(...transactions.map((transaction) => [transaction, by(funder)] as const))
  for (const account of accounts) assert.equal(await world.microAlgos(account), startMicroAlgos)
  return round
}

async function rekey(world: World): Promise<bigint> {
  const { buyer, seller, stranger } = world
  const rekeyTo = stranger.addr
  const { round } = await world.send([await world.payment(buyer, buyer, 0n, { rekeyTo }), by(buyer)])
  const { authAddr } = await world.algod.accountInformation(buyer.addr).do()
  assert.equal(String(authAddr), String(rekeyTo))
  const stem = `should have been authorized by ${rekeyTo} but was actually authorized by ${buyer.addr}`
  await world.refuses(stem, by(buyer)(await world.payment(buyer, seller, 1n)))
  const transaction = await world.payment(buyer, seller, 1n)
  const unsigned = new algosdk.SignedTransaction({ txn: transaction })
  const [lax, fixed] = [
    await simulate(world, [unsigned], { allowEmptySignatures: true }),
    await simulate(world, [unsigned], { allowEmptySignatures: true, fixSigners: true }),
  ]
  assert.match(lax.failureMessage ?? '', /should have been authorized by/)
  assert.equal(fixed.failureMessage, undefined)
  assert.equal(String(fixed.txnResults[0]!.fixedSigner), String(rekeyTo))
  return round
}

async function spendByNewKey(world: World): Promise<bigint> {
  const { buyer, seller, stranger } = world
  const before = await world.microAlgos(seller)
  const { round, answers } = await world.send([await world.payment(buyer, seller, 7n), by(stranger)])
  assert.equal(String(answers[0]!.txn.sgnr), String(stranger.addr))
  assert.equal(await world.microAlgos(seller), before + 7n)
  return round
}

async function rekeyBack(world: World): Promise<bigint> {
  const { buyer, stranger } = world
  await world.send([await world.payment(buyer, buyer, 0n, { rekeyTo: buyer.addr }), by(stranger)])
  assert.equal((await world.algod.accountInformation(buyer.addr).do()).authAddr, undefined)
  await world.refuses('should have been authorized by', by(stranger)(await world.payment(buyer, buyer, 0n)))
  return (await world.send([await world.payment(buyer, buyer, 0n), by(buyer)])).round
}

async function spendFromMultisig(world: World): Promise<bigint> {
  const { issuer, buyer, seller } = world
  const members = [issuer, buyer, seller]
  const description = { version: 1, threshold: 2, addrs: members.map(({ addr }) => addr) }
  const shared = { addr: algosdk.multisigAddress(description), sk: new Uint8Array() }
  const amount = 200_000n
  await world.send([await world.payment(issuer, shared, amount), by(issuer)])
  assert.equal(await world.microAlgos(shared), amount)

  const start = (transaction: algosdk.Transaction): Uint8Array =>
    algosdk.signMultisigTransaction(transaction, description, seller.sk).blob
  const finish = (transaction: algosdk.Transaction): Uint8Array =>
    algosdk.appendSignMultisigTransaction(start(transaction), description, issuer.sk).blob
  await world.refuses('multisig', start(await world.payment(shared, buyer, 1n)))
  const before = await world.microAlgos(buyer)
  const fee = await world.minFee()
  await world.send([await world.payment(shared, buyer, 5n), finish])
  assert.equal(await world.microAlgos(buyer), before + 5n)

  const issuerHad = await world.microAlgos(issuer)
  const closeRemainderTo = issuer.addr
  const { round, answers } = await world.send([await world.payment(shared, buyer, 0n, { closeRemainderTo }), finish])
  assert.equal(answers[0]!.closingAmount, amount - 5n - 2n * fee)
  assert.equal(await world.microAlgos(issuer), issuerHad + amount - 5n - 2n * fee)
  assert.equal(await world.microAlgos(shared), 0n)
  // It spent what the issuer had given it, so that its fees were the issuer's in the end.
  world.addFee(issuer.addr, 2n * fee)
  return round
}

async function lease(world: World): Promise<bigint> {
  const { issuer, buyer } = world
  const params = await world.params()
  const lastValid = params.firstValid + leaseRounds
  const held = randomBytes(32)
  const first = await world.payment(buyer, issuer, 1n, { lease: held, params: { ...params, lastValid } })
  const { answers } = await world.send([first, by(buyer)])
  assert.deepEqual(Buffer.from(answers[0]!.txn.txn.lease!), held)
  const again = await world.payment(buyer, issuer, 1n, { lease: held })
  await world.refuses('using an overlapping lease', by(buyer)(again))
  const other = await world.payment(buyer, issuer, 1n, { lease: randomBytes(32) })
  await world.send([other, by(buyer)])
  await world.passRound(lastValid)
  return (await world.send([again, by(buyer)])).round
}

async function closeAccounts(world: World): Promise<bigint> {
  const { funder, issuer, buyer, seller } = world
  const accounts = [issuer, buyer, seller]
  let returned = 0n
  let round = 0n
  for (const account of accounts) {
    const had = await world.microAlgos(account)
    const transaction = await world.payment(account, funder, 0n, { closeRemainderTo: funder.addr })
    const { answers, round: closedIn } = await world.send([transaction, by(account)])
    assert.equal(answers[0]!.closingAmount, had - transaction.fee)
    const left = await world.algod.accountInformation(account.addr).do()
    assert.deepEqual([left.amount, left.minBalance, left.assets], [0n, 100_000n, []])
    returned += answers[0]!.closingAmount!
    round = closedIn
  }
  const expected = startMicroAlgos * BigInt(accounts.length) - world.feesOf(...accounts)
  assert.equal(returned, expected, 'nothing but the fees was spent')
  return round
}

type SimulateOptions = { allowEmptySignatures?: boolean; fixSigners?: boolean }

export async function simulate(
  { algod }: World,
  txns: readonly algosdk.SignedTransaction[],
  options: SimulateOptions = {},
): Promise<algosdk.modelsv2.SimulateTransactionGroupResult> {
  const txnGroups = [new algosdk.modelsv2.SimulateRequestTransactionGroup({ txns: [...txns] })]
  const answer = await algod.simulateTransactions(new algosdk.modelsv2.SimulateRequest({ txnGroups, ...options })).do()
  assert.equal(answer.txnGroups.length, 1)
  return answer.txnGroups[0]!
}
