/**
 * A small explorer of the local chain: blocks, transactions, accounts, assets and applications, rendered from the
 * devnet's own indexer. Pages have no script, and nothing is loaded from elsewhere.
 */
import { Address, Json, Readable } from '@latchkey/algorand'
import type { FetchHandler } from '@latchkey/http'
import { type Html, html, page, policy, table } from './html.js'

export type ExplorerOptions = {
  /** Responds to a request of the indexer API. */
  readonly indexer: (path: string) => Promise<Response>
  /** The dollar assets of the chain. */
  readonly dollarAssetIds: readonly bigint[]
  /** Names of known accounts, by address. */
  readonly names: ReadonlyMap<string, string>
}

type Members = { readonly [name: string]: unknown }

const listed = 50
const notFound = new Response('not found', { status: 404 })

export function createExplorer(options: ExplorerOptions): FetchHandler {
  const views = new Views(options)
  return async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return new Response('use GET', { status: 405 })
    const url = new URL(request.url)
    if (url.pathname === '/search') return found(url.searchParams.get('q') ?? '')
    const content = await views.render(url.pathname)
    if (content === undefined) return notFound.clone()
    return new Response(page(content.title, content.parts), {
      headers: {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': policy,
        'X-Content-Type-Options': 'nosniff',
        'Cache-Control': 'no-store',
      },
    })
  }
}

/** A search leads to the page of what the text can be. */
function found(text: string): Response {
  const query = text.trim()
  const to = Address.isValid(query)
    ? `/account/${query}`
    : /^[A-Z2-7]{52}$/.test(query)
      ? `/transaction/${query}`
      : /^[0-9]{1,19}$/.test(query)
        ? `/block/${query}`
        : '/'
  return new Response(undefined, { status: 303, headers: { Location: to } })
}

type Content = { readonly title: string; readonly parts: readonly Html[] }

class Views {
  readonly #options: ExplorerOptions

  constructor(options: ExplorerOptions) {
    this.#options = options
  }

  async render(path: string): Promise<Content | undefined> {
    const [, kind = '', id = '', more] = path.split('/')
    if (more !== undefined) return undefined
    if (kind === 'block' && /^[0-9]{1,19}$/.test(id)) return this.#block(id)
    if (kind === 'transaction' && /^[A-Z2-7]{52}$/.test(id)) return this.#transaction(id)
    if (kind === 'account' && Address.isValid(id)) return this.#account(id)
    if ((kind === 'asset' || kind === 'application') && /^[0-9]{1,19}$/.test(id)) return this.#item(kind, id)
    if (id !== '') return undefined
    const lists: { readonly [name: string]: () => Promise<Content> } = {
      '': () => this.#blocks(),
      transactions: () => this.#transactions(),
      accounts: () => this.#accounts(),
      assets: () => this.#assets(),
      applications: () => this.#applications(),
    }
    return Object.hasOwn(lists, kind) ? lists[kind]!() : undefined
  }

  async #blocks(): Promise<Content> {
    const round = number((await this.#read('/health'))?.['round'])
    const last = [...Array(listed).keys()].map((index) => round - index).filter((one) => one >= 0)
    const blocks = await Promise.all(last.map((one) => this.#read(`/v2/blocks/${one}`)))
    const rows = blocks.flatMap((block) => (block === undefined ? [] : [blockRow(block)]))
    return { title: `Blocks up to round ${round}`, parts: [table(['Round', 'Time', 'Transactions'], rows)] }
  }

  async #block(round: string): Promise<Content | undefined> {
    const block = await this.#read(`/v2/blocks/${round}`)
    if (block === undefined) return undefined
    return {
      title: `Block ${round}`,
      parts: [
        html`<p>${timeOf(block['timestamp'])}</p>`,
        this.#transactionTable(list(block['transactions'])),
        raw(block),
      ],
    }
  }

  async #transactions(): Promise<Content> {
    const { transactions } = (await this.#read(`/v2/transactions?limit=${listed}`)) ?? {}
    return { title: 'Transactions', parts: [this.#transactionTable(list(transactions))] }
  }

  async #transaction(id: string): Promise<Content | undefined> {
    const response = await this.#read(`/v2/transactions/${id}`)
    const transaction = response?.['transaction']
    if (!Json.isObject(transaction)) return undefined
    const facts: [string, Html | string][] = [
      ['What', this.#what(transaction)],
      ['From', this.#address(transaction['sender'])],
      ['Fee', Readable.money({ assetId: 0n, amount: big(transaction['fee']) })],
      ['Block', link('block', String(transaction['confirmed-round'] ?? ''))],
      ['Time', timeOf(transaction['round-time'])],
    ]
    return { title: `Transaction ${id}`, parts: [table(['', ''], facts), raw(transaction)] }
  }

  async #accounts(): Promise<Content> {
    const { accounts } = (await this.#read(`/v2/accounts?limit=${listed}`)) ?? {}
    const rows = list(accounts).map((account) => [
      this.#address(account['address']),
      Readable.money({ assetId: 0n, amount: big(account['amount']) }),
    ])
    return { title: 'Accounts', parts: [table(['Account', 'Balance'], rows)] }
  }

  async #account(address: string): Promise<Content | undefined> {
    const response = await this.#read(`/v2/accounts/${address}`)
    const account = response?.['account']
    if (!Json.isObject(account)) return undefined
    const { transactions } = (await this.#read(`/v2/accounts/${address}/transactions?limit=${listed}`)) ?? {}
    const holdings = list(account['assets']).map((one) => [
      link('asset', String(one['asset-id'])),
      this.#money(big(one['asset-id']), big(one['amount'])),
    ])
    const name = this.#options.names.get(address)
    return {
      title: name === undefined ? `Account ${address}` : `Account ${name}`,
      parts: [
        html`<p><code>${address}</code>: ${Readable.money({ assetId: 0n, amount: big(account['amount']) })}</p>`,
        html`<h2>Assets</h2>`,
        table(['Asset', 'Amount'], holdings),
        html`<h2>Transactions</h2>`,
        this.#transactionTable(list(transactions)),
      ],
    }
  }

  async #assets(): Promise<Content> {
    const { assets } = (await this.#read(`/v2/assets?limit=${listed}`)) ?? {}
    const rows = list(assets).map((asset) => {
      const parameters = Json.isObject(asset['params']) ? asset['params'] : {}
      return [link('asset', String(asset['index'])), text(parameters['name']), text(parameters['unit-name'])]
    })
    return { title: 'Assets', parts: [table(['Asset', 'Name', 'Unit'], rows)] }
  }

  async #applications(): Promise<Content> {
    const { applications } = (await this.#read(`/v2/applications?limit=${listed}`)) ?? {}
    const rows = list(applications).map((one) => {
      const parameters = Json.isObject(one['params']) ? one['params'] : {}
      return [link('application', String(one['id'])), this.#address(parameters['creator'])]
    })
    return { title: 'Applications', parts: [table(['Application', 'Creator'], rows)] }
  }

  async #item(kind: 'asset' | 'application', id: string): Promise<Content | undefined> {
    const response = await this.#read(`/v2/${kind}s/${id}`)
    const found = response?.[kind]
    return Json.isObject(found)
      ? { title: `${kind === 'asset' ? 'Asset' : 'Application'} ${id}`, parts: [raw(found)] }
      : undefined
  }

  #transactionTable(transactions: readonly Members[]): Html {
    const rows = transactions.map((one) => [
      link('transaction', text(one['id'])),
      link('block', String(one['confirmed-round'] ?? '')),
      this.#address(one['sender']),
      this.#what(one),
    ])
    return table(['Transaction', 'Block', 'From', 'What'], rows)
  }

  #what(transaction: Members): Html | string {
    const payment = transaction['payment-transaction']
    if (Json.isObject(payment)) {
      return html`pays ${this.#money(0n, big(payment['amount']))} to ${this.#address(payment['receiver'])}`
    }
    const transfer = transaction['asset-transfer-transaction']
    if (Json.isObject(transfer)) {
      const amount = this.#money(big(transfer['asset-id']), big(transfer['amount']))
      return html`sends ${amount} to ${this.#address(transfer['receiver'])}`
    }
    return text(transaction['tx-type'])
  }

  #money(assetId: bigint, amount: bigint): string {
    return Readable.money({ assetId, amount }, { dollarAssetIds: this.#options.dollarAssetIds })
  }

  #address(value: unknown): Html | string {
    const address = text(value)
    if (!Address.isValid(address)) return address
    const name = this.#options.names.get(address) ?? Readable.shortAddress(address)
    return html`<a href="/account/${address}" title="${address}">${name}</a>`
  }

  async #read(path: string): Promise<Members | undefined> {
    const response = await this.#options.indexer(path)
    if (!response.ok) return undefined
    const value: unknown = Json.parse(await response.text())
    return Json.isObject(value) ? value : undefined
  }
}

const maxLinkText = 12

function link(kind: string, id: string): Html {
  const shown = id.length > maxLinkText ? `${id.slice(0, maxLinkText - 4)}...` : id
  return html`<a href="/${kind}/${id}">${shown}</a>`
}

function blockRow(block: Members): (Html | string)[] {
  const count = list(block['transactions']).length
  return [link('block', String(block['round'])), timeOf(block['timestamp']), String(count)]
}

/** The whole object, for members that the page does not explain. */
function raw(value: Members): Html {
  const shown = JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? String(member) : member), 2)
  const lines = shown.split('\n').map((line) => html`${line}\n`)
  return html`<details><summary>All members</summary><pre><code>${lines}</code></pre></details>`
}

function timeOf(seconds: unknown): string {
  return Readable.time(number(seconds) * 1000)
}

function list(value: unknown): readonly Members[] {
  return Array.isArray(value) ? value.filter((one) => Json.isObject(one)) : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function number(value: unknown): number {
  return Number(value ?? 0)
}

function big(value: unknown): bigint {
  return Json.uint64(value) ?? 0n
}
