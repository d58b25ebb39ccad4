/** Defines the steps with Algos and keys. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import * as algosdk from 'algosdk'
import { by, type ScenarioContext, type Step } from './ScenarioContext.test.helper.js'

/** Enough for all steps, and little on a public network. */
const startMicroAlgos = 1_000_000n
/** Short, because the scenario waits for the lease to end. */
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

async function fund(context: ScenarioContext): Promise<bigint> {
  const { funder, issuer, buyer, seller } = context
  const accounts = [issuer, buyer, seller]
  for (const account of accounts) assert.equal(await context.microAlgos(account), 0n)
  const transactions = await Promise.all(accounts.map((account) => context.payment(funder, account, startMicroAlgos)))
  const { round } = await context.send(...transactions.map((transaction) => [transaction, by(funder)] as const))
  for (const account of accounts) assert.equal(await context.microAlgos(account), startMicroAlgos)
  return round
}

async function rekey(context: ScenarioContext): Promise<bigint> {
  const { buyer, seller, outsider } = context
  const rekeyTo = outsider.addr
  const { round } = await context.send([await context.payment(buyer, buyer, 0n, { rekeyTo }), by(buyer)])
  const { authAddr } = await context.algod.accountInformation(buyer.addr).do()
  assert.equal(String(authAddr), String(rekeyTo))
  const stem = `should have been authorized by ${rekeyTo} but was actually authorized by ${buyer.addr}`
  await context.expectRejection(stem, by(buyer)(await context.payment(buyer, seller, 1n)))
  const transaction = await context.payment(buyer, seller, 1n)
  const unsigned = new algosdk.SignedTransaction({ txn: transaction })
  const [lax, fixed] = [
    await simulate(context, [unsigned], { allowEmptySignatures: true }),
    await simulate(context, [unsigned], { allowEmptySignatures: true, fixSigners: true }),
  ]
  assert.match(lax.failureMessage ?? '', /should have been authorized by/)
  assert.equal(fixed.failureMessage, undefined)
  assert.equal(String(fixed.txnResults[0]!.fixedSigner), String(rekeyTo))
  return round
}

async function spendByNewKey(context: ScenarioContext): Promise<bigint> {
  const { buyer, seller, outsider } = context
  const before = await context.microAlgos(seller)
  const { round, answers } = await context.send([await context.payment(buyer, seller, 7n), by(outsider)])
  assert.equal(String(answers[0]!.txn.sgnr), String(outsider.addr))
  assert.equal(await context.microAlgos(seller), before + 7n)
  return round
}

async function rekeyBack(context: ScenarioContext): Promise<bigint> {
  const { buyer, outsider } = context
  await context.send([await context.payment(buyer, buyer, 0n, { rekeyTo: buyer.addr }), by(outsider)])
  assert.equal((await context.algod.accountInformation(buyer.addr).do()).authAddr, undefined)
  await context.expectRejection('should have been authorized by', by(outsider)(await context.payment(buyer, buyer, 0n)))
  return (await context.send([await context.payment(buyer, buyer, 0n), by(buyer)])).round
}

async function spendFromMultisig(context: ScenarioContext): Promise<bigint> {
  const { issuer, buyer, seller } = context
  const members = [issuer, buyer, seller]
  const description = { version: 1, threshold: 2, addrs: members.map(({ addr }) => addr) }
  const shared = { addr: algosdk.multisigAddress(description), sk: new Uint8Array() }
  const amount = 200_000n
  await context.send([await context.payment(issuer, shared, amount), by(issuer)])
  assert.equal(await context.microAlgos(shared), amount)

  const start = (transaction: algosdk.Transaction): Uint8Array =>
    algosdk.signMultisigTransaction(transaction, description, seller.sk).blob
  const finish = (transaction: algosdk.Transaction): Uint8Array =>
    algosdk.appendSignMultisigTransaction(start(transaction), description, issuer.sk).blob
  await context.expectRejection('multisig', start(await context.payment(shared, buyer, 1n)))
  const before = await context.microAlgos(buyer)
  const fee = await context.minFee()
  await context.send([await context.payment(shared, buyer, 5n), finish])
  assert.equal(await context.microAlgos(buyer), before + 5n)

  const issuerHad = await context.microAlgos(issuer)
  const closeRemainderTo = issuer.addr
  const { round, answers } = await context.send([
    await context.payment(shared, buyer, 0n, { closeRemainderTo }),
    finish,
  ])
  assert.equal(answers[0]!.closingAmount, amount - 5n - 2n * fee)
  assert.equal(await context.microAlgos(issuer), issuerHad + amount - 5n - 2n * fee)
  assert.equal(await context.microAlgos(shared), 0n)
  // The account spent Algos from the issuer, so the issuer effectively paid its fees.
  context.addFee(issuer.addr, 2n * fee)
  return round
}

async function lease(context: ScenarioContext): Promise<bigint> {
  const { issuer, buyer } = context
  const params = await context.params()
  const lastValid = params.firstValid + leaseRounds
  const held = randomBytes(32)
  const first = await context.payment(buyer, issuer, 1n, { lease: held, params: { ...params, lastValid } })
  const { answers } = await context.send([first, by(buyer)])
  assert.deepEqual(Buffer.from(answers[0]!.txn.txn.lease!), held)
  const again = await context.payment(buyer, issuer, 1n, { lease: held })
  await context.expectRejection('using an overlapping lease', by(buyer)(again))
  const other = await context.payment(buyer, issuer, 1n, { lease: randomBytes(32) })
  await context.send([other, by(buyer)])
  await context.passRound(lastValid)
  return (await context.send([again, by(buyer)])).round
}

async function closeAccounts(context: ScenarioContext): Promise<bigint> {
  const { funder, issuer, buyer, seller } = context
  const accounts = [issuer, buyer, seller]
  let returned = 0n
  let round = 0n
  for (const account of accounts) {
    const had = await context.microAlgos(account)
    const transaction = await context.payment(account, funder, 0n, { closeRemainderTo: funder.addr })
    const { answers, round: closedIn } = await context.send([transaction, by(account)])
    assert.equal(answers[0]!.closingAmount, had - transaction.fee)
    const left = await context.algod.accountInformation(account.addr).do()
    assert.deepEqual([left.amount, left.minBalance, left.assets], [0n, 100_000n, []])
    returned += answers[0]!.closingAmount!
    round = closedIn
  }
  const expected = startMicroAlgos * BigInt(accounts.length) - context.feesOf(...accounts)
  assert.equal(returned, expected, 'nothing but the fees was spent')
  return round
}

type SimulateOptions = { allowEmptySignatures?: boolean; fixSigners?: boolean }

export async function simulate(
  { algod }: ScenarioContext,
  txns: readonly algosdk.SignedTransaction[],
  options: SimulateOptions = {},
): Promise<algosdk.modelsv2.SimulateTransactionGroupResult> {
  const txnGroups = [new algosdk.modelsv2.SimulateRequestTransactionGroup({ txns: [...txns] })]
  const answer = await algod.simulateTransactions(new algosdk.modelsv2.SimulateRequest({ txnGroups, ...options })).do()
  assert.equal(answer.txnGroups.length, 1)
  return answer.txnGroups[0]!
}
