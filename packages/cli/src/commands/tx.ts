/** `latchkey tx ID`: shows a transaction's status. */

import { AlgodError, explainRejection } from '@latchkey/algod'
import { Description, Network, Readable, type Transaction } from '@latchkey/algorand'
import type { Chain } from '@latchkey/x402/client'
import { command } from '../Command.js'
import { chainOptions, openReadingChain } from '../chain.js'
import { CommandError, UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { explained } from '../explained.js'
import { quoted } from '../format.js'
import { printJson, printResult, printWarning, withProgress } from '../messages.js'
import { assetOfHolding } from '../money/assets.js'
import * as Indexer from '../money/Indexer.js'
import { find } from '../money/Outcome.js'
import { explorerUrl } from '../money/report.js'
import { closeWhenPrinted, defaultPath, type Sent, SentLog } from '../money/SentLog.js'

type State = 'confirmed' | 'pending' | 'expired' | 'unknown'

type Found = {
  readonly state: State
  /** A sentence about the status. */
  readonly text: string
  readonly round?: bigint | undefined
  readonly time?: Date | undefined
  readonly transaction?: Transaction.Transaction | undefined
}

export const txCommand = command({
  description: `Show a transaction's status: the round and time of its confirmation and its effects; or that it is pending, expired or \
unknown. The sources are the node, which keeps about 1000 rounds, an indexer, and the log of sent transactions.`,
  positionals: [{ name: 'ID', description: 'id of the transaction, 52 letters and digits' }],
  options: {
    ...chainOptions,
    indexer: {
      type: 'string',
      placeholder: 'URL',
      description: 'URL of an indexer of that network (INDEXER_URL, or a public one)',
    },
    log: {
      type: 'string',
      placeholder: 'FILE',
      completes: 'file',
      description: 'log of sent transactions (~/.latchkey/transactions.jsonl)',
    },
    json: { type: 'boolean', description: 'print the result as one line of JSON' },
  },
  examples: ['latchkey tx ID', 'latchkey tx ID --network testnet --json'],
  exits: ['pending'],
  run: async ({ options, args: [id] }) => {
    if (!/^[A-Z2-7]{52}$/.test(id!)) {
      throw new UsageError(`${quoted(id!.slice(0, 80))} is not the id of a transaction`, {
        code: 'invalid_value',
        hint: 'an id has 52 letters and digits',
      })
    }
    const chain = await openReadingChain(options, process.env)
    await chain.parameters()
    const isOwn = options.network === undefined || options.network === process.env['AVM_NETWORK']
    const indexer = Indexer.choose(options.indexer, chain.caip2, process.env, isOwn)
    const log = new SentLog(options.log ?? defaultPath())
    const sent = recordOf(log, id!)
    const found = await withProgress('Looking up the transaction', lookUp(chain, id!, sent, indexer))
    const lines = found.transaction === undefined ? [] : await describe(chain, found.transaction)
    if (options.json) printJson(toJson(chain, id!, found, lines))
    try {
      return report(chain, id!, found, lines, options.json ?? false)
    } finally {
      if (sent?.isOpen && (found.state === 'confirmed' || found.state === 'expired')) await closeWhenPrinted(log, id!)
    }
  },
})

/** The network knows most transactions without the record. */
function recordOf(log: SentLog, id: string): Sent | undefined {
  try {
    return log.get(id)
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    printWarning(explained(error).message)
    return undefined
  }
}

async function lookUp(
  chain: Chain,
  id: string,
  sent: Sent | undefined,
  indexer: Indexer.Place | undefined,
): Promise<Found> {
  const { state, transaction } = await chain.algod.transactionDetails(id)
  if (state.type === 'confirmed') return confirmed(state.round, await timeOf(chain, state.round), transaction)
  if (state.type === 'pending') return pending(`It waits for a block${until(transaction)}.`, transaction)
  const indexed = indexer === undefined ? undefined : await askIndexer(indexer, id)
  if (indexed !== undefined) return confirmed(indexed.round, indexed.time, indexed.transaction)
  const dropped = state.type === 'dropped' ? explainRejection(state.reason) : undefined
  if (sent !== undefined) return byRecord(chain, sent, dropped)
  if (dropped !== undefined) {
    return pending(
      `The node has dropped it: ${dropped} Another node may still hold it${until(transaction)}.`,
      transaction,
    )
  }
  const where = indexer === undefined ? 'no indexer was asked' : 'nor does the indexer'
  const text = `The node does not know it, ${where}: it was never sent there, has expired, or is older than the node remembers.`
  return { state: 'unknown', text }
}

/** The sending command recorded the last valid round, which allows a more precise answer than a node can give. */
async function byRecord(chain: Chain, sent: Sent, dropped: string | undefined): Promise<Found> {
  if (sent.network !== chain.caip2) {
    const text = `It was sent on ${Network.phrase(sent.network)}, and not on ${Network.phrase(chain.caip2)}.`
    return { state: 'unknown', text }
  }
  const outcome = await find(chain, sent).catch((error: unknown) => {
    if (error instanceof AlgodError) return undefined
    throw error
  })
  if (outcome?.state === 'confirmed') {
    const { round } = outcome
    return confirmed(round, round === undefined ? undefined : await timeOf(chain, round), undefined)
  }
  if (outcome?.state === 'expired') {
    const text = `It expired: it was sent at ${Readable.time(sent.sentMs)}, was in no block until round ${sent.lastValid}, and can no longer be confirmed.`
    return { state: 'expired', text }
  }
  const why = dropped === undefined ? 'The node does not know it' : `The node has dropped it: ${dropped}`
  return pending(
    `${why}; it can be confirmed until round ${sent.lastValid}. To run the command that sent it again sends the same transaction.`,
    undefined,
  )
}

async function askIndexer(place: Indexer.Place, id: string): Promise<Indexer.IndexedTransaction | undefined> {
  try {
    return await Indexer.lookUp(place, id)
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    printWarning(explained(error).message)
    return undefined
  }
}

function confirmed(
  round: bigint | undefined,
  time: Date | undefined,
  transaction: Transaction.Transaction | undefined,
): Found {
  const where = round === undefined ? 'It is confirmed' : `It was confirmed in round ${round}`
  const when = time === undefined ? '' : `, at ${Readable.time(time.getTime())}`
  return { state: 'confirmed', text: `${where}${when}.`, round, time, transaction }
}

function pending(text: string, transaction: Transaction.Transaction | undefined): Found {
  return { state: 'pending', text, transaction }
}

function until(transaction: Transaction.Transaction | undefined): string {
  return transaction?.lv === undefined ? '' : `, and is valid until round ${transaction.lv}`
}

async function timeOf(chain: Chain, round: bigint): Promise<Date | undefined> {
  return chain.algod.blockTime(round).catch(() => undefined)
}

/** Includes the units of assets, as far as the node provides them. */
async function describe(chain: Chain, transaction: Transaction.Transaction): Promise<string[]> {
  const ids = [transaction.xaid, transaction.faid, transaction.caid].filter((id) => id !== undefined)
  const assets = new Map<bigint, Description.Asset>()
  for (const id of ids) {
    const asset = await assetOfHolding(chain, id).catch(() => undefined)
    if (asset !== undefined) assets.set(id, { decimals: asset.decimals, unitName: asset.unit })
  }
  return Description.describe(transaction, { assets }).lines
}

function toJson(chain: Chain, id: string, { state, round, time }: Found, lines: readonly string[]) {
  return {
    id,
    state,
    round: round === undefined ? null : Number(round),
    time: time?.toISOString() ?? null,
    network: chain.caip2,
    explorer: explorerUrl(chain, id) ?? null,
    description: lines,
  }
}

function report(chain: Chain, id: string, { state, text }: Found, lines: readonly string[], isJson: boolean): number {
  const where = Network.phrase(chain.caip2)
  const url = state === 'confirmed' ? explorerUrl(chain, id) : undefined
  if (!isJson && state !== 'unknown') {
    const shown = [`${text.slice(0, -1)}, on ${where}.`, ...lines.map((line) => `  ${line}`), ...(url ? [url] : [])]
    printResult(shown.map((line) => `${line}\n`).join(''))
  }
  if (state === 'confirmed') return exitCodes.ok
  if (state === 'pending') return exitCodes.pending
  if (state === 'expired') return exitCodes.failed
  const sentence = text.slice(0, 1).toLowerCase() + text.slice(1, -1)
  throw new CommandError('transaction_unknown', `on ${where} ${sentence}`, {
    hint: 'check the id and --network; for older ones give an indexer with --indexer',
  })
}
