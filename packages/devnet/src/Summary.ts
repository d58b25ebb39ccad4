/** A transaction in words. */
import { Address, type Submission, type Transaction } from '@latchkey/algorand'
import type { Applied } from './ledger/Block.js'
import { id } from './ledger/Candidate.js'
import * as Key from './ledger/Key.js'
import type { Store } from './ledger/Store.js'
import { TransactionRejectedError } from './ledger/TransactionRejectedError.js'

type Txn = Transaction.Transaction

export function applied({ candidate, outcome }: Applied, round: bigint, store: Store): string {
  const created = outcome.createdAssetId === undefined ? '' : `, asset ${outcome.createdAssetId}`
  return `round ${round}  ${id(candidate)}  ${describe(candidate.txn, store)}${created}`
}

export function refused({ txn }: Submission.Submitted, error: unknown, store: Store): string {
  const reason = error instanceof TransactionRejectedError ? error.reason : (error as Error).message
  return `refused  ${describe(txn, store)}: ${printable(reason)}`
}

/** Reasons quote what was sent, and that is shown on somebody's screen. */
function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (letter) => `\\u{${letter.codePointAt(0)!.toString(16)}}`)
}

export function describe(txn: Txn, store: Store): string {
  const rekey = txn.rekey === undefined ? '' : `, rekeyed to ${short(txn.rekey)}`
  return `${short(txn.snd)} ${effect(txn, store)}${rekey} (fee ${algos(txn.fee ?? 0n)})`
}

function effect(txn: Txn, store: Store): string {
  switch (txn.type) {
    case 'pay': {
      const pays = `pays ${algos(txn.amt ?? 0n)} to ${short(txn.rcv)}`
      return txn.close === undefined ? pays : `${pays} and closes to ${short(txn.close)}`
    }
    case 'axfer':
      return assetTransfer(txn, store)
    case 'acfg':
      if (txn.caid === undefined) return 'creates an asset'
      return `${txn.apar === undefined ? 'destroys' : 'reconfigures'} asset ${txn.caid}`
    case 'afrz':
      return `${txn.afrz === true ? 'freezes' : 'unfreezes'} asset ${txn.faid} of ${short(txn.fadd)}`
    case 'keyreg':
      return txn.votekey === undefined ? 'goes offline' : 'registers keys to go online'
    default:
      return `sends a transaction of type ${JSON.stringify(txn.type)}`
  }
}

function assetTransfer(txn: Txn, store: Store): string {
  const asset = store.asset(txn.xaid ?? 0n)
  const amount = `${units(txn.aamt ?? 0n, asset?.decimals ?? 0)} of asset ${txn.xaid ?? 0n}`
  if (txn.asnd !== undefined) return `claws back ${amount} from ${short(txn.asnd)} to ${short(txn.arcv)}`
  const isToItself = txn.arcv !== undefined && Key.of(txn.arcv) === Key.of(txn.snd)
  if (isToItself && txn.aamt === undefined && txn.aclose === undefined) return `opts in to asset ${txn.xaid ?? 0n}`
  const sends = `sends ${amount} to ${short(txn.arcv)}`
  return txn.aclose === undefined ? sends : `${sends} and closes out to ${short(txn.aclose)}`
}

function short(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? 'nobody' : `${Address.encode(bytes).slice(0, 8)}…`
}

function algos(microAlgos: bigint): string {
  return `${units(microAlgos, 6)} ALGO`
}

function units(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}
