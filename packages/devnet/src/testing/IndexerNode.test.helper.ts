/** A devnet without a port that also serves the indexer API. */
import { dropConnection, type RawHandler } from '@latchkey/http'
import * as IndexerHandler from '../indexer/IndexerHandler.js'
import {
  type CallOptions,
  TestNode,
  type TestNodeOptions,
  type TestResponse,
  testResponseOf,
} from './TestNode.test.helper.js'

export class IndexerNode extends TestNode {
  readonly indexer: RawHandler

  constructor(options: TestNodeOptions = {}) {
    super({ ...options, tracksLifetimes: true })
    const { token } = options
    this.indexer = IndexerHandler.create({
      ledger: this.ledger,
      token,
      onError: (error) => this.errors.push(error),
    })
  }

  /** The response of the indexer API. */
  async ask(
    target: string,
    { method = 'GET', headers = {} }: CallOptions & { method?: string } = {},
  ): Promise<TestResponse> {
    const all: { [name: string]: string } = { host: '127.0.0.1:8980', ...headers }
    const response = await this.indexer({ method, target, header: (name) => all[name], body: () => Buffer.alloc(0) })
    if (response === dropConnection) throw new Error('the connection was dropped')
    return testResponseOf(response)
  }

  /** The body of a successful response. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of any type
  async read(target: string): Promise<any> {
    const response = await this.ask(target)
    if (response.status !== 200) throw new Error(`${response.status} ${response.text}`)
    return response.json
  }

  /** Returns the ids of the transactions that a search finds, over all pages. */
  async ids(target: string): Promise<string[]> {
    const found: string[] = []
    let next: string | undefined
    do {
      const token = next === undefined ? '' : `${target.includes('?') ? '&' : '?'}next=${encodeURIComponent(next)}`
      const page = await this.read(`${target}${token}`)
      for (const { id } of page.transactions) found.push(id)
      if (next !== undefined && page['next-token'] === next) throw new Error(`${target} does not end`)
      next = page['next-token']
    } while (next !== undefined)
    return found
  }
}
