/** The content of the first screen: totals of the known balances, and the next actions. */
import { Amount } from '@latchkey/algorand'
import type { Account, Asset, NodeStatus } from '../responseTypes.js'

export type Total = Pick<Asset, 'assetId' | 'decimals' | 'unitName'> & { amount: bigint }

/** Sums the holdings of accounts, ALGO first, then the larger holdings of named assets. An account counts once. */
export function totals(accounts: Iterable<Account>): Total[] {
  const algos: Total = { assetId: '0', decimals: Amount.algoDecimals, unitName: '', amount: 0n }
  const assets = new Map<string, Total>()
  const counted = new Set<string>()
  for (const account of accounts) {
    if (counted.has(account.address)) continue
    counted.add(account.address)
    algos.amount += BigInt(account.microAlgos)
    for (const { assetId, decimals, unitName, amount } of account.assets) {
      const total = assets.get(assetId) ?? { assetId, decimals, unitName, amount: 0n }
      assets.set(assetId, { ...total, amount: total.amount + BigInt(amount) })
    }
  }
  return [algos, ...[...assets.values()].sort((a, b) => (BigInt(a.assetId) < BigInt(b.assetId) ? -1 : 1))]
}

export type NextAction =
  | { kind: 'create-wallet' }
  | { kind: 'back-up'; walletId: string }
  | { kind: 'unlock'; count: number }
  | { kind: 'set-node' }
  | { kind: 'fix-node' }
  | { kind: 'generate-key'; walletId: string }
  | { kind: 'fund'; address: string }
  | { kind: 'unconfirmed'; count: number }
  | { kind: 'opt-in'; address: string; assetId: string }

export type Situation = {
  walletIds: readonly string[]
  pendingBackups: ReadonlySet<string>
  /** The unlocked wallets, with the addresses of their keys once those are loaded. */
  unlocked: readonly { walletId: string; keys: readonly string[] | undefined }[]
  node: NodeStatus | undefined
  /** By address; undefined until the node has answered. */
  accounts: ReadonlyMap<string, Account> | undefined
  /** Signed transactions that are not on the ledger. */
  unconfirmedCount: number
}

/** Returns the next actions, the most useful first. Unknown facts lead to no action. */
export function nextActions(situation: Situation): NextAction[] {
  const { walletIds, pendingBackups, unlocked, node, unconfirmedCount } = situation
  if (walletIds.length === 0) return [{ kind: 'create-wallet' }, ...nodeActions(node)]
  const actions: NextAction[] = walletIds
    .filter((id) => pendingBackups.has(id))
    .map((walletId) => ({ kind: 'back-up', walletId }))
  if (unlocked.length === 0) actions.push({ kind: 'unlock', count: walletIds.length })
  actions.push(...nodeActions(node))
  const withoutKeys = unlocked.find(({ keys }) => keys?.length === 0)
  if (withoutKeys !== undefined) actions.push({ kind: 'generate-key', walletId: withoutKeys.walletId })
  if (unconfirmedCount > 0) actions.push({ kind: 'unconfirmed', count: unconfirmedCount })
  return [...actions, ...accountActions(situation)]
}

function nodeActions(node: NodeStatus | undefined): NextAction[] {
  if (node === undefined || node.isReachable) return []
  return [{ kind: node.isSet ? 'fix-node' : 'set-node' }]
}

/** Funding comes first, because an account without ALGO can do nothing else. */
function accountActions({ unlocked, node, accounts }: Situation): NextAction[] {
  const own = unlocked.flatMap(({ keys = [] }) => keys)
  const known = own.map((address) => accounts?.get(address)).filter((account) => account !== undefined)
  if (known.length === 0) return []
  const funded = known.filter(({ microAlgos }) => BigInt(microAlgos) > 0n)
  if (funded.length === 0) return [{ kind: 'fund', address: known[0]!.address }]
  const dollars = node?.usdcAssetIds ?? []
  const holdsDollars = known.some(({ assets }) => assets.some(({ assetId }) => dollars.includes(assetId)))
  const [assetId] = dollars
  return assetId === undefined || holdsDollars ? [] : [{ kind: 'opt-in', address: funded[0]!.address, assetId }]
}
