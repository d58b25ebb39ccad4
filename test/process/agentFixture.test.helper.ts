/** Creates an agent through the command, builds its transactions, and opens the daemon as the agent uses it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AgentClient, Kmd } from '@latchkey/kmd-client'
import * as algosdk from 'algosdk'
import { atEnd, type Json, type Scope } from './commands.test.helper.js'
import { dollar, type Money } from './money.test.helper.js'

let notes = 0

/** Builds payments of alice, each of them unique. */
export class AgentPayments {
  readonly #money: Money
  readonly #params: algosdk.SuggestedParams

  constructor(money: Money, params: algosdk.SuggestedParams) {
    this.#money = money
    this.#params = params
  }

  dollars(amount: bigint, receiver: string, fields: Partial<algosdk.SuggestedParams> = {}): algosdk.Transaction {
    return algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
      ...{ sender: this.#money.accounts.alice.address, receiver, amount, assetIndex: dollar },
      ...{ suggestedParams: { ...this.#params, fee: 0n, flatFee: true, ...fields } },
      note: Buffer.from(`payment ${notes++}`),
    })
  }

  algos(microAlgos: bigint, receiver: string, sender = this.#money.accounts.alice.address): algosdk.Transaction {
    return algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      ...{ sender, receiver, amount: microAlgos },
      suggestedParams: { ...this.#params, fee: 1_000n, flatFee: true },
      note: Buffer.from(`payment ${notes++}`),
    })
  }
}

export const bytesOf = (transaction: algosdk.Transaction): Uint8Array => algosdk.encodeUnsignedTransaction(transaction)

/** Opens the daemon with an agent's token. */
export async function asAgent(t: Scope, money: Money, token: string): Promise<AgentClient> {
  const client = await Kmd.asAgent({ address: money.kmd.address, token })
  atEnd(t, () => client.close())
  return client
}

export type Made = { agent: Json; token: string; file: string }

/** Runs `latchkey agent new` in the wallet `spending`, with the token in a file. */
export async function makeAgent(money: Money, name: string, rules: readonly string[]): Promise<Made> {
  const file = join(money.home, `${name}.token`)
  const made = await money.run(['agent', 'new', name, '-w', 'spending', ...rules, '--token-file', file, '--json'])
  assert.equal(made.code, 0, made.stderr)
  const { agent } = JSON.parse(made.stdout)
  return { agent, file, token: readFileSync(file, 'utf8').trim() }
}
