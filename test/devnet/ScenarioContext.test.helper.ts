/** Provides accounts with fresh keys on a network, and helpers to send transactions and read the results. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import * as algosdk from 'algosdk'

export type Sign = (transaction: algosdk.Transaction) => Uint8Array
export type Member = readonly [transaction: algosdk.Transaction, sign: Sign]
export type Sent = { ids: string[]; round: bigint; answers: algosdk.modelsv2.PendingTransactionResponse[] }

/** A step resolves to its round, and throws if the node does not behave as expected. */
export type Step = { readonly name: string; readonly run: (context: ScenarioContext) => Promise<bigint> }

/** The maximum number of rounds until a transaction is in a block. */
const confirmationRounds = 20

export class ScenarioContext {
  readonly algod: algosdk.Algodv2
  readonly funder: algosdk.Account
  /** Issues the asset. */
  readonly issuer = algosdk.generateAccount()
  readonly buyer = algosdk.generateAccount()
  readonly seller = algosdk.generateAccount()
  /** Has a key and no Algos. */
  readonly outsider = algosdk.generateAccount()
  readonly #fees = new Map<string, bigint>()
  #assetId: bigint | undefined
  /** A group that later steps look up in its block. */
  pooled: Sent | undefined

  constructor({ algod, funder }: { algod: algosdk.Algodv2; funder: algosdk.Account }) {
    this.algod = algod
    this.funder = funder
  }

  get assetId(): bigint {
    assert.ok(this.#assetId !== undefined, 'no asset was created')
    return this.#assetId
  }

  set assetId(id: bigint) {
    this.#assetId = id
  }

  /** Returns the fees that these accounts paid. */
  feesOf(...payers: algosdk.Account[]): bigint {
    return payers.reduce((sum, { addr }) => sum + (this.#fees.get(String(addr)) ?? 0n), 0n)
  }

  async params(): Promise<Suggested> {
    return this.algod.getTransactionParams().do()
  }

  async minFee(): Promise<bigint> {
    return (await this.params()).minFee
  }

  async lastRound(): Promise<bigint> {
    return (await this.algod.status().do()).lastRound
  }

  /** Adds a random note, so no two payments are equal. */
  async payment(
    from: algosdk.Account,
    to: algosdk.Account | algosdk.Address,
    amount: bigint,
    { fee, params, ...more }: PaymentOptions = {},
  ): Promise<algosdk.Transaction> {
    const suggested = params ?? (await this.params())
    return algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      sender: from.addr,
      receiver: to instanceof algosdk.Address ? to : to.addr,
      amount,
      note: randomBytes(8),
      suggestedParams: fee === undefined ? suggested : { ...suggested, fee, flatFee: true },
      ...more,
    })
  }

  async transfer(
    from: algosdk.Account,
    to: algosdk.Account,
    amount: bigint,
    { fee, params, ...more }: TransferOptions = {},
  ): Promise<algosdk.Transaction> {
    const suggested = params ?? (await this.params())
    return algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
      sender: from.addr,
      receiver: to.addr,
      amount,
      assetIndex: this.assetId,
      note: randomBytes(8),
      suggestedParams: fee === undefined ? suggested : { ...suggested, fee, flatFee: true },
      ...more,
    })
  }

  /** Sends transactions, several as one group, and waits until all are in a block. */
  async send(...members: Member[]): Promise<Sent> {
    if (members.length > 1) algosdk.assignGroupID(members.map(([transaction]) => transaction))
    const { txid } = await this.algod.sendRawTransaction(members.map(([transaction, sign]) => sign(transaction))).do()
    const ids = members.map(([transaction]) => transaction.txID())
    assert.equal(txid, ids[0], 'the response to a submission is the id of its first transaction')
    const answers = []
    for (const id of ids) answers.push(await algosdk.waitForConfirmation(this.algod, id, confirmationRounds))
    for (const [{ sender, fee }] of members) this.addFee(sender, fee)
    const round = answers[0]!.confirmedRound!
    for (const [index, { confirmedRound, txn }] of answers.entries()) {
      assert.equal(confirmedRound, round, 'a group is in one block')
      assert.equal(txn.txn.txID(), ids[index])
    }
    return { ids, round, answers }
  }

  addFee(payer: algosdk.Address, fee: bigint): void {
    this.#fees.set(String(payer), (this.#fees.get(String(payer)) ?? 0n) + fee)
  }

  /** Submits transactions that must be rejected with 400 and a message that contains the text. */
  async expectRejection(stem: string, ...signed: Uint8Array[]): Promise<void> {
    let answer: { txid: string }
    try {
      answer = await this.algod.sendRawTransaction(signed).do()
    } catch (error) {
      const { status, message } = error as Error & { status?: number }
      assert.equal(status, 400, `expected 400 (${stem}): ${message}`)
      assert.ok(message.includes(stem), `expected "${stem}" in: ${message}`)
      return
    }
    throw new assert.AssertionError({ message: `expected a rejection (${stem}), but ${answer.txid} was accepted` })
  }

  async microAlgos({ addr }: { addr: algosdk.Address }): Promise<bigint> {
    return (await this.algod.accountInformation(addr).do()).amount
  }

  /** Returns undefined if the account is not opted in. */
  async holding({ addr }: algosdk.Account): Promise<algosdk.modelsv2.AssetHolding | undefined> {
    const { assets } = await this.algod.accountInformation(addr).do()
    const listed = assets?.find(({ assetId }) => assetId === this.assetId)
    const single = await orNotFound(this.algod.accountAssetInformation(addr, this.assetId).do())
    assert.deepEqual(single?.assetHolding, listed, 'both endpoints return the same holding')
    return listed
  }

  async units(account: algosdk.Account): Promise<bigint> {
    const holding = await this.holding(account)
    assert.ok(holding !== undefined, `${account.addr} is not opted in`)
    return holding.amount
  }

  /** Sends transactions until the round is reached, because some nodes make no empty blocks. */
  async passRound(round: bigint): Promise<void> {
    while ((await this.lastRound()) < round) {
      await this.send([await this.payment(this.issuer, this.issuer, 0n), by(this.issuer)])
    }
  }
}

type Suggested = Awaited<ReturnType<ReturnType<algosdk.Algodv2['getTransactionParams']>['do']>>

type PaymentOptions = {
  fee?: bigint
  params?: algosdk.SuggestedParams
  closeRemainderTo?: algosdk.Address
  rekeyTo?: algosdk.Address
  lease?: Uint8Array
}

type TransferOptions = {
  fee?: bigint
  params?: algosdk.SuggestedParams
  closeRemainderTo?: algosdk.Address
  assetSender?: algosdk.Address
}

export function by({ sk }: algosdk.Account): Sign {
  return (transaction) => transaction.signTxn(sk)
}

/** Returns undefined if the node responds with 404. */
export async function orNotFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if ((error as { status?: number }).status === 404) return undefined
    throw error
  }
}
