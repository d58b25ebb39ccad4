/** Finds the problems of a transfer before anything is signed. */
import type { Account, AssetDetails, Holding } from '../responseTypes.js'
import { format, formatAlgos, unitOf } from './amount.js'
import { shortAddress } from './shortAddress.js'
import type { Transfer } from './transfer.js'

export type TransferProblem = {
  text: string
  /** The remedy: an opt-in of an account, or funds for it. */
  cure?: { kind: 'opt-in' | 'fund'; address: string } | undefined
}

export type TransferFacts = {
  transfer: Transfer
  feeMicroAlgos: bigint
  sender: Account
  /** The account of the receiver, if it is another account. */
  receiver: Account | undefined
  asset: AssetDetails | undefined
  senderHolding: Holding | undefined
  receiverHolding: Holding | undefined
}

/** The increase of an account's minimum balance for each asset. */
export const holdingMicroAlgos = 100_000n

export function transferProblems(facts: TransferFacts): TransferProblem[] {
  const { transfer } = facts
  if (transfer.kind === 'pay') return [...payProblems(facts, transfer.units), ...receiverFunds(facts, transfer.units)]
  // An account keeps its holding of a deleted asset.
  if (transfer.kind === 'opt-out') return optOutProblems(facts, facts.asset ?? deleted(transfer.assetId))
  if (facts.asset?.exists !== true) return [{ text: `There is no asset ${transfer.assetId} on this network.` }]
  if (transfer.kind === 'opt-in') return optInProblems(facts)
  return [...assetProblems(facts, facts.asset, transfer.units), ...payProblems(facts, 0n)]
}

/** The ALGO that an account can spend, without its minimum balance and the fee. */
export function spendableMicroAlgos(account: Account, feeMicroAlgos: bigint): bigint {
  const rest = BigInt(account.microAlgos) - BigInt(account.minMicroAlgos) - feeMicroAlgos
  return rest > 0n ? rest : 0n
}

function payProblems({ sender, feeMicroAlgos }: TransferFacts, units: bigint, locked = 0n): TransferProblem[] {
  const [has, min] = [BigInt(sender.microAlgos), BigInt(sender.minMicroAlgos)]
  const missing = units + feeMicroAlgos + min + locked - has
  if (missing <= 0n) return []
  const parts = [
    ...(units > 0n ? [`${formatAlgos(units)} to send`] : []),
    `${formatAlgos(feeMicroAlgos)} for the fee`,
    `${formatAlgos(min + locked)} that must stay`,
  ]
  const last = parts.pop()
  const text = `The account has ${formatAlgos(has)} and needs ${parts.join(', ')} and ${last}: ${formatAlgos(missing)} more.`
  return [{ text, cure: { kind: 'fund', address: sender.address } }]
}

/** An account cannot exist with less than its minimum balance. */
function receiverFunds({ transfer, receiver, sender }: TransferFacts, units: bigint): TransferProblem[] {
  if (receiver === undefined || receiver.address === sender.address || transfer.kind !== 'pay') return []
  const [then, min] = [BigInt(receiver.microAlgos) + units, BigInt(receiver.minMicroAlgos)]
  if (then >= min) return []
  const needed = formatAlgos(min - BigInt(receiver.microAlgos))
  const text = `The receiver would have ${formatAlgos(then)}, but an account must hold at least ${formatAlgos(min)}. Send at least ${needed}.`
  return [{ text }]
}

function assetProblems(
  { sender, receiver, senderHolding, receiverHolding }: TransferFacts,
  asset: AssetDetails,
  units: bigint,
): TransferProblem[] {
  const name = unitOf(asset)
  const problems: TransferProblem[] = []
  if (senderHolding?.isOptedIn !== true) {
    const cure = { kind: 'opt-in', address: sender.address } as const
    return [{ text: `The account has not opted in to ${name} and holds none of it.`, cure }]
  }
  if (senderHolding.isFrozen) problems.push({ text: `${name} is frozen in the account: it cannot be sent.` })
  if (BigInt(senderHolding.amount) < units) {
    problems.push({
      text: `The account has only ${format(senderHolding.amount, asset.decimals)} ${name}.`,
    })
  }
  if (receiver === undefined) return problems
  if (receiverHolding?.isOptedIn !== true) {
    const text = `The receiver ${shortAddress(receiver.address)} has not opted in to ${name} (asset ${asset.assetId}). It has to opt in before it can receive the asset.`
    problems.push({ text, cure: { kind: 'opt-in', address: receiver.address } })
  } else if (receiverHolding.isFrozen) {
    problems.push({ text: `${name} is frozen in the receiver’s account, which cannot receive it.` })
  }
  return problems
}

function optInProblems(facts: TransferFacts): TransferProblem[] {
  if (facts.senderHolding?.isOptedIn === true) {
    return [{ text: `The account has already opted in to ${unitOf(facts.asset!)}.` }]
  }
  return payProblems(facts, 0n, holdingMicroAlgos)
}

function optOutProblems(facts: TransferFacts, asset: AssetDetails): TransferProblem[] {
  const { senderHolding, sender } = facts
  if (senderHolding?.isOptedIn !== true) return [{ text: `The account has not opted in to ${unitOf(asset)}.` }]
  if (asset.creator === sender.address) return [{ text: 'The creator of an asset cannot opt out of it.' }]
  if (senderHolding.amount !== '0') {
    const held = `${format(senderHolding.amount, asset.decimals)} ${unitOf(asset)}`
    return [{ text: `The account still holds ${held}. Send it to another account first.` }]
  }
  // The opt-out lowers the minimum balance, and the fee may come out of the difference.
  return payProblems({ ...facts, sender: lowered(sender) }, 0n)
}

function deleted(assetId: string): AssetDetails {
  return { ...{ assetId, exists: false, decimals: 0, unitName: '', name: '', creator: '' }, isFrozenByDefault: false }
}

function lowered(account: Account): Account {
  const min = BigInt(account.minMicroAlgos) - holdingMicroAlgos
  return { ...account, minMicroAlgos: String(min > 0n ? min : 0n) }
}
