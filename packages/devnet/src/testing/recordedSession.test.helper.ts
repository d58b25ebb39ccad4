/** Replays recorded sessions of a node: submissions, simulations and what its API showed in between. */
import { Json, Submission } from '@latchkey/algorand'
import { DevnetNode } from '../DevnetNode.js'
import * as Block from '../ledger/Block.js'
import * as Genesis from '../ledger/Genesis.js'
import { Ledger } from '../ledger/Ledger.js'
import { LedgerError } from '../ledger/LedgerError.js'
import * as MapKey from '../ledger/MapKey.js'
import * as avm from '../ledger/programs/avm.js'
import * as RequestHandler from '../RequestHandler.js'
import { testResponseOf } from './TestNode.test.helper.js'

export type Session = {
  readonly id: string
  readonly genesisId: string
  readonly genesisHash: string
  readonly accounts: readonly { readonly address: string; readonly microAlgos: string }[]
  readonly steps: readonly Step[]
}

// biome-ignore lint/suspicious/noExplicitAny: recorded JSON
type Recorded = any

export type Step =
  | {
      do: 'submit'
      txns: string[]
      payset?: string[]
      timestamp?: number
      counter?: number
      stage?: string
      error?: string
    }
  | { do: 'simulate'; txns: string[]; options: object; response?: Recorded; error?: string }
  | { do: 'application'; id: number; response?: Recorded; missing?: true }
  | { do: 'account'; address: string; response: Recorded }
  | { do: 'box'; app: number; name: string; value?: string; missing?: true }

/** A step whose result differs from the recorded one. */
export type Difference = {
  readonly id: string
  readonly step: number
  readonly kind: Step['do']
  readonly expected: string
  readonly actual: string
}

/** One session lists a ninth account, which it created itself. */
const fundedAccounts = 8

/** Replays a session. After a submission that differs, the rest cannot be compared, and is left out. */
export async function replay(session: Session): Promise<{ differences: Difference[]; compared: number }> {
  await avm.load()
  const { genesisId, genesisHash } = session
  const own = Genesis.make({ accountCount: 0, genesisHash, genesisId })
  // The recorded sessions have no online accounts.
  const allocations = own.allocations.map((one) => ({ ...one, status: 'Offline' as const, participation: undefined }))
  const genesis = { ...own, allocations }
  const ledger = new Ledger({ genesis })
  const node = new DevnetNode({ ledger, blocks: 'instant' })
  const errors: unknown[] = []
  const handle = RequestHandler.create({ node, onError: (error) => errors.push(error) })
  for (const { address, microAlgos } of session.accounts.slice(0, fundedAccounts)) {
    ledger.fund({ type: 'fund', to: MapKey.fromAddress(address), microAlgos: BigInt(microAlgos), assets: [] })
  }
  const request = async (method: string, target: string, body: Uint8Array | string = '') => {
    const answer = await handle({
      method,
      target,
      header: (name) => (name === 'host' ? '127.0.0.1' : undefined),
      remoteAddress: () => '127.0.0.1',
      body: () => Buffer.from(body),
    })
    return testResponseOf(answer as Exclude<typeof answer, symbol>)
  }
  const differences: Difference[] = []
  let compared = 0
  for (const [index, step] of session.steps.entries()) {
    compared++
    const outcome = await compare(step, { ledger, node, request })
    if (errors.length > 0) throw errors[0]
    if (outcome === undefined) continue
    differences.push({ id: session.id, step: index, kind: step.do, ...outcome })
    if (step.do === 'submit') break
  }
  node.stop()
  return { differences, compared }
}

type Host = {
  readonly ledger: Ledger
  readonly node: DevnetNode
  readonly request: (
    method: string,
    target: string,
    body?: Uint8Array | string,
  ) => Promise<{ status: number; text: string }>
}

type Pair = { expected: string; actual: string } | undefined

async function compare(step: Step, { ledger, node, request }: Host): Promise<Pair> {
  switch (step.do) {
    case 'submit':
      return submitted(step, ledger, node)
    case 'simulate':
      return simulated(step, request)
    case 'application': {
      const { status, text } = await request('GET', `/v2/applications/${step.id}`)
      return differing(step.missing ? 'missing' : step.response, status === 404 ? 'missing' : parse(text))
    }
    case 'account': {
      const { text } = await request('GET', `/v2/accounts/${step.address}`)
      return differing(step.response, parse(text))
    }
    case 'box': {
      const name = encodeURIComponent(`b64:${step.name}`)
      const { status, text } = await request('GET', `/v2/applications/${step.app}/box?name=${name}`)
      const value = status === 404 ? 'missing' : ((parse(text) as { value?: string }).value ?? '')
      return differing(step.missing ? 'missing' : step.value, value)
    }
  }
}

function submitted(step: Step & { do: 'submit' }, ledger: Ledger, node: DevnetNode): Pair {
  const expected = step.error === undefined ? [...step.payset!, step.counter!] : errorText(step.error)
  try {
    if (step.timestamp !== undefined) ledger.setTime(BigInt(step.timestamp))
    const group = step.txns.map((text) => Submission.decodeFirst(Buffer.from(text, 'base64')))
    // Recorded on the ledger, without the checks of the REST API.
    node.submit(group, { skipsAddressCheck: true })
  } catch (error) {
    const isReason = error instanceof LedgerError || error instanceof Submission.DecodeError
    if (!isReason) throw error
    // The recorded errors are those of the evaluator, without the instructions that a developer's node adds.
    return differing(expected, errorText(error.message).replace(/, opcodes=.*?(?=$|\. Details)/gs, ''))
  }
  const entries = ledger.last.transactions.map((one) =>
    Buffer.from(Block.commitmentEntry(one).entry).toString('base64'),
  )
  return differing(expected, [...entries, Number(ledger.state.transactionCount())])
}

async function simulated(step: Step & { do: 'simulate' }, request: Host['request']): Promise<Pair> {
  const txns = step.txns.map((text) => Submission.toJson(Submission.decodeFirst(Buffer.from(text, 'base64')).signed))
  const body = jsonText({ ...step.options, 'txn-groups': [{ txns }] })
  const { status, text } = await request('POST', '/v2/transactions/simulate', body)
  if (status !== 200) return differing(step.error, (parse(text) as { message: string }).message)
  return differing(normalized(step.response), normalized(parse(text)))
}

function jsonText(value: object): string {
  const text = JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `#${one}#` : one))
  return text.replace(/"#([0-9]+)#"/g, '$1')
}

function parse(text: string): unknown {
  return Json.parse(text)
}

/** Go's dumps of whole transactions and accounts are out of reach; an id or nothing takes their place. */
function errorText(text: string): string {
  return text
    .replace(/^transaction \{.*\} invalid : /s, '')
    .replace(/data \{.*\}, tried to spend/s, 'data {}, tried to spend')
    .replace(/ during assignment &\{.*(?=\. Details)/s, ' during assignment')
    .replace(/ \[\]transactions\.SignedTxnWithAD\{.*\}(?=\. Details)/s, '')
}

/** Members that are not recorded, and lists that nodes send in no order. */
function normalized(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return name === 'failure-message' ? errorText(value) : value
  if (Array.isArray(value)) {
    const list = value.map((one) => normalized(one))
    return unordered.has(name) ? list.sort((a, b) => (canonical(a) < canonical(b) ? -1 : 1)) : list
  }
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([key]) => !(key === 'txn' && 'pool-error' in value && !isInner(value)))
  return Object.fromEntries(members.map(([key, one]) => [key, normalized(one, key)]))
}

const unordered = new Set([
  ...['app-initial-states', 'kvs', 'app-locals', 'accounts', 'apps', 'assets', 'boxes', 'asset-holdings'],
  ...['global-state-delta', 'local-state-delta', 'delta'],
])

/** The recorded inner transactions have their member `txn`. */
function isInner(result: object): boolean {
  const { txn } = result as { txn?: { sig?: unknown; txn?: { gh?: unknown } } }
  return txn?.txn?.gh === undefined && txn?.sig === undefined
}

function differing(expected: unknown, actual: unknown): Pair {
  const [one, other] = [canonical(expected), canonical(actual)]
  return one === other ? undefined : { expected: one, actual: other }
}

/** Text with sorted members. */
function canonical(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join(',')}}`
}
