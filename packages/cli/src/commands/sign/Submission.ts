/** Sends signed transactions: checks the network before signing, and reports the outcome. */

import { AlgodError } from '@latchkey/algod'
import {
  Address,
  Bytes,
  type Description,
  Group,
  Network,
  type Readable,
  SignedTransaction,
  Transaction,
  type TransactionFile,
} from '@latchkey/algorand'
import type { Chain } from '@latchkey/x402/client'
import { openChain } from '../../chain.js'
import { CommandError } from '../../errors.js'
import { printJson, printLine, printMessage, withProgress } from '../../messages.js'
import { readWaitMs } from '../../money/act.js'
import { assetOfHolding } from '../../money/assets.js'
import { Interrupt } from '../../money/Interrupt.js'
import { deliver, type Outcome } from '../../money/Outcome.js'
import { rejected } from '../../money/rejection.js'
import { explorerUrl, reportOutcome } from '../../money/report.js'
import { titleOf } from './confirmation.js'
import { encodeUnchanged, type Step } from './Plan.js'

export type Given = {
  readonly network?: string | undefined
  readonly node?: string[] | undefined
  readonly timeout?: string | undefined
  readonly json?: boolean | undefined
}

export type Submission = {
  /** Units and decimals of the assets in the transactions, and the dollar of the network. */
  readonly assets: Readable.AssetOptions
  /** Reports a group that an earlier run already put on the ledger; undefined for any other. @returns the exit code */
  readonly reportKnown: (() => number) | undefined
  /** Throws before anything is signed if the plan cannot be sent, or if the node would reject it. */
  readonly check: (steps: readonly Step[]) => Promise<void>
  /** Sends the group, waits and reports. @returns the exit code */
  readonly send: (group: readonly Uint8Array[]) => Promise<number>
}

/** Opens the network, and checks that the transactions are for it and currently valid. */
export async function open(members: readonly TransactionFile.Member[], given: Given): Promise<Submission> {
  const waitMs = readWaitMs(given)
  const chain = await openChain(given, process.env)
  const { lastRound } = await chain.parameters()
  const transactions = members.map(({ transaction }) => transaction)
  for (const [index, transaction] of transactions.entries()) {
    checkNetwork(chain, transaction, titleOf(index, members.length).toLowerCase())
  }
  if (!Group.isComplete(transactions) && (members.length > 1 || isGrouped(transactions[0]!))) throw notOneGroup()
  const ids = members.map(({ bytes }) => Transaction.id(bytes))
  const known = await chain.algod.transaction(ids[0]!)
  const isKnown = known.type === 'confirmed'
  if (!isKnown) {
    for (const [index, one] of transactions.entries()) {
      checkValidity(one, lastRound, titleOf(index, members.length).toLowerCase(), ids[index]!)
    }
  }
  return {
    assets: {
      assets: await assetsOf(chain, transactions),
      dollarAssetIds: chain.dollarAssetId === undefined ? [] : [chain.dollarAssetId],
    },
    reportKnown: isKnown ? () => reportGroup(chain, ids, { state: 'confirmed', round: known.round }, given) : undefined,
    check: (steps) => check(chain, steps),
    send: (group) => send(chain, members, group, { ...given, waitMs }),
  }
}

function isGrouped({ grp }: Transaction.Transaction): boolean {
  return grp?.some((byte) => byte !== 0) ?? false
}

function checkNetwork(chain: Chain, { gh }: Transaction.Transaction, title: string): void {
  if (gh !== undefined && Bytes.equal(gh, chain.genesisHash)) return
  const own = gh === undefined ? undefined : Network.known.find(({ genesisHash }) => genesisHash === Bytes.toBase64(gh))
  const what =
    gh === undefined ? 'does not name a network' : `is for ${own === undefined ? 'another network' : own.displayName}`
  const message = `nothing was signed: the ${title} ${what}, but the node belongs to ${Network.phrase(chain.caip2)}`
  throw new CommandError('wrong_network', message, {
    hint:
      own === undefined
        ? "give the transaction's network with --network, and its node with --node"
        : `give --network ${own.name}`,
  })
}

function checkValidity(
  { fv = 0n, lv = 0n }: Transaction.Transaction,
  lastRound: bigint,
  title: string,
  id: string,
): void {
  if (lv <= lastRound) {
    const message = `nothing was signed: the ${title} expired in round ${lv}, and the network is at round ${lastRound}`
    throw new CommandError('transaction_expired', message, {
      hint: `check whether it was confirmed with latchkey tx ${id}; if not, make a new one`,
    })
  }
  if (fv > lastRound + 1n) {
    const message = `nothing was signed: the ${title} is valid from round ${fv}, but the network is at round ${lastRound}`
    throw new CommandError('not_submittable', message, { hint: 'send it after that round' })
  }
}

function notOneGroup(): CommandError {
  return new CommandError('not_submittable', 'nothing was signed: the transactions are not one complete group', {
    hint: 'sign without --submit, or send them one by one',
  })
}

/** The error for an incomplete signature, whose result was written. */
export function incomplete(): CommandError {
  return new CommandError('not_submittable', 'nothing was sent: signatures of other members are missing', {
    hint: 'pass the file on to them; the last signer gives --submit',
  })
}

async function check(chain: Chain, steps: readonly Step[]): Promise<void> {
  const index = steps.findIndex(({ member, sign }) => sign === undefined && !isWhole(member))
  if (index >= 0) {
    const title = titleOf(index, steps.length)
    throw new CommandError(
      'not_submittable',
      `nothing was signed: ${title} ${steps[index]!.text}, so it cannot be sent`,
      {
        hint: 'sign without --submit and pass it on to its signer, or give the wallet that has the key with --wallet',
      },
    )
  }
  const failure = await chain.algod.simulate(steps.map(unsigned)).catch((error: unknown) => {
    // Some nodes do not simulate; the ledger decides then.
    if (error instanceof AlgodError) return undefined
    throw error
  })
  if (failure === undefined) return
  throw rejected(chain, 'nothing was signed', failure.message)
}

/** Whether the transaction has all required signatures. */
function isWhole({ isSigned, signed }: TransactionFile.Member): boolean {
  const msig = signed?.msig
  return isSigned && (msig === undefined || msig.subsig.filter(({ s }) => s !== undefined).length >= msig.thr)
}

/** Returns the final transaction without the pending signatures, because a partial multisig would count as invalid. */
function unsigned({ member, sign, signer }: Step): Uint8Array {
  if (sign === undefined || signer === undefined) return encodeUnchanged(member)
  const { transaction: txn } = member
  const isOwn = Bytes.equal(txn.snd, Address.decode(signer))
  return SignedTransaction.encode({ sgnr: isOwn ? undefined : Address.decode(signer), txn })
}

async function send(
  chain: Chain,
  members: readonly TransactionFile.Member[],
  group: readonly Uint8Array[],
  { waitMs, json }: { readonly waitMs: number; readonly json?: boolean | undefined },
): Promise<number> {
  const ids = members.map(({ bytes }) => Transaction.id(bytes))
  const [{ fv = 0n, lv = 0n }] = members.map(({ transaction }) => transaction) as [Transaction.Transaction]
  // Printed before sending, so that the id is known whatever happens next.
  if (!json) for (const id of ids) printLine(id)
  const interrupt = new Interrupt()
  const sent = { id: ids[0]!, firstValid: fv, lastValid: lv, group }
  const delivery = deliver(chain, sent, { waitMs, interrupt, isRepeated: false })
  const outcome = await withProgress('Sending', delivery).finally(() => interrupt.stop())
  if (json) printJson(toJson(chain, ids, outcome))
  return reportOutcome(chain, ids, outcome, interrupt.isInterrupted)
}

function reportGroup(chain: Chain, ids: readonly string[], outcome: Outcome, { json }: Given): number {
  if (json) printJson(toJson(chain, ids, outcome))
  else for (const id of ids) printLine(id)
  printMessage('The transaction is already in the ledger: nothing was signed or sent now.')
  return reportOutcome(chain, ids, outcome, false)
}

function toJson(chain: Chain, ids: readonly string[], outcome: Outcome) {
  const round = outcome.state === 'confirmed' && outcome.round !== undefined ? Number(outcome.round) : null
  const transactions = ids.map((id) => ({ id, explorer: explorerUrl(chain, id) ?? null }))
  return { transactions, state: outcome.state, round, network: chain.caip2 }
}

async function assetsOf(
  chain: Chain,
  transactions: readonly Transaction.Transaction[],
): Promise<Map<bigint, Description.Asset>> {
  const ids = new Set(transactions.flatMap(({ xaid, faid, caid }) => [xaid, faid, caid]))
  const assets = new Map<bigint, Description.Asset>()
  for (const id of ids) {
    const asset = id === undefined ? undefined : await assetOfHolding(chain, id).catch(() => undefined)
    if (asset !== undefined) assets.set(id!, { decimals: asset.decimals, unitName: asset.unit })
  }
  return assets
}
