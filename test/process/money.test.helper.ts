/** Sets up a devnet, a key daemon and wallets for the commands that move money. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as algosdk from 'algosdk'
import { type DevnetFacts, get, latchkeyCommand, startHostedDevnet } from '../support/devnet.test.helper.js'
import { hostedLatchkey, latchkey, type Outcome, type RunOptions } from '../support/latchkey.test.helper.js'
import { type OpenTerminal, openTerminal } from '../support/terminal.test.helper.js'
import { type Json, type Kmd, type Scope, startHosted, temporaryDirectory } from './commands.test.helper.js'

export type Secret = { address: string; secretKey: Uint8Array }

export const password = 'correct horse'
export const dollar = 31566704

/**
 * Alice's key is the only one in the wallet `spending`; those of bob and carol are in `others`. Dora's is in no wallet.
 */
export class Money {
  readonly home: string
  readonly kmd: Kmd
  readonly facts: DevnetFacts
  readonly algod: algosdk.Algodv2
  readonly accounts: { alice: Secret; bob: Secret; carol: Secret; dora: Secret }
  readonly environment: { [name: string]: string }

  private constructor(home: string, kmd: Kmd, facts: DevnetFacts) {
    this.home = home
    this.kmd = kmd
    this.facts = facts
    this.algod = new algosdk.Algodv2('', facts.url)
    const [alice, bob, carol, dora] = facts.accounts.map(({ address, mnemonic }) => {
      return { address, secretKey: algosdk.mnemonicToSecretKey(mnemonic).sk }
    })
    this.accounts = { alice: alice!, bob: bob!, carol: carol!, dora: dora! }
    this.environment = {
      ...{ PATH: process.env['PATH'] ?? '', HOME: home, KMD_DATA_DIR: kmd.dataDir },
      ...{ AVM_NETWORK: 'local', ALGOD_URL: facts.url, USDC_ASSET_ID: `${dollar}` },
    }
  }

  static async start(t: Scope, devnetArgs: readonly string[] = []): Promise<Money> {
    const home = temporaryDirectory(t)
    const [kmd, { facts }] = await Promise.all([startHosted(t), startHostedDevnet(t, devnetArgs)])
    const money = new Money(home, kmd, facts)
    const { alice, bob, carol } = money.accounts
    await money.createWallet('spending', [alice])
    await money.createWallet('others', [bob, carol])
    writeFileSync(join(home, 'password'), `${password}\n`, { mode: 0o600 })
    return money
  }

  async createWallet(name: string, keys: readonly Secret[]): Promise<string> {
    const handle = await this.kmd.unlock(await this.kmd.create(name, password), password)
    for (const { secretKey } of keys) {
      const body = { wallet_handle_token: handle, private_key: Buffer.from(secretKey).toString('base64') }
      await this.kmd.ok('POST', '/v1/key/import', body)
    }
    return handle
  }

  /** Runs without a terminal, with the wallet password from a file. */
  run(args: readonly string[], env: { [name: string]: string } = {}): Promise<Outcome> {
    return hostedLatchkey(args, this.#optionsWith(env))
  }

  /** Runs like `run`, in a separate process. */
  runAlone(args: readonly string[], env: { [name: string]: string } = {}): Promise<Outcome> {
    return latchkey(args, this.#optionsWith(env))
  }

  #optionsWith(env: { [name: string]: string }): RunOptions {
    const file = { KMD_PASSWORD_FILE: join(this.home, 'password') }
    return { home: this.home, env: { ...this.environment, ...file, ...env } }
  }

  /** Runs in a terminal, with prompts. */
  open(t: Scope, args: readonly string[], env: { [name: string]: string } = {}): OpenTerminal {
    return openTerminal(t, [process.execPath, latchkeyCommand, ...args], { env: { ...this.environment, ...env } })
  }

  /** Runs in a terminal, with the password typed. */
  async unlocked(t: Scope, args: readonly string[], wallet = 'spending'): Promise<OpenTerminal> {
    const terminal = this.open(t, [...args, '--wallet', wallet])
    await terminal.sees(`Password of ${wallet}: `)
    terminal.type(`${password}\r`)
    return terminal
  }

  async microAlgos(address: string): Promise<number> {
    return (await get(`${this.facts.url}/v2/accounts/${address}`))['amount'] as number
  }

  /** Returns the amount in base units; undefined if the account is not opted in. */
  async holding(address: string, assetId: number): Promise<number | undefined> {
    const response = await fetch(`${this.facts.url}/v2/accounts/${address}/assets/${assetId}`)
    return response.status === 404 ? undefined : ((await response.json()) as Json)['asset-holding'].amount
  }

  async devnet(path: string, body: object = {}, method = 'POST'): Promise<Json> {
    const init = method === 'POST' ? { method, body: JSON.stringify(body) } : { method }
    const response = await fetch(`${this.facts.url}/devnet${path}`, init)
    assert.equal(response.status, 200, path)
    return response.json()
  }

  /** Signs with algosdk and submits; returns the node's response. */
  async submit({ secretKey }: Secret, transaction: algosdk.Transaction): Promise<Json> {
    await this.algod.sendRawTransaction(transaction.signTxn(secretKey)).do()
    return get(`${this.facts.url}/v2/transactions/pending/${transaction.txID()}`)
  }

  params(): Promise<algosdk.SuggestedParams> {
    return this.algod.getTransactionParams().do()
  }

  /** Creates an asset of dora's, opts accounts in to it and funds them. */
  async createAsset(unitName: string, holders: readonly Secret[], amount = 500n): Promise<number> {
    const { dora } = this.accounts
    const create = algosdk.makeAssetCreateTxnWithSuggestedParamsFromObject({
      ...{ sender: dora.address, total: 1_000_000n, decimals: 2, unitName, defaultFrozen: false },
      ...{ freeze: dora.address, suggestedParams: await this.params() },
    })
    const assetId: number = (await this.submit(dora, create))['asset-index']
    for (const { address } of holders) {
      await this.devnet('/fund', { address, assetId, amount: Number(amount) })
    }
    return assetId
  }

  async freeze(assetId: number, { address }: Secret, frozen = true): Promise<void> {
    const { dora } = this.accounts
    const freezeTarget = address
    const suggestedParams = await this.params()
    const freeze = algosdk.makeAssetFreezeTxnWithSuggestedParamsFromObject({
      ...{ sender: dora.address, assetIndex: assetId, freezeTarget, frozen, suggestedParams },
      note: Buffer.from(`${Math.random()}`),
    })
    await this.submit(dora, freeze)
  }
}

/** Returns a new address without funds. */
export const newAddress = (): string => algosdk.generateAccount().addr.toString()

/** Returns the id that a command printed on stdout. */
export function idOf({ stdout, stderr }: Outcome): string {
  assert.match(stdout, /^[A-Z2-7]{52}\n$/, stderr)
  return stdout.trim()
}
