/** Formats a transaction as one readable line. */
import { Address, Amount, type Transaction, VisibleText } from '@latchkey/algorand'
import type { Applied } from './ledger/Block.js'
import * as MapKey from './ledger/MapKey.js'
import type { StateReader } from './ledger/StateReader.js'

type Txn = Transaction.Transaction

export function confirmed({ transaction, outcome }: Applied, round: bigint, state: StateReader): string {
  const created = outcome.createdAssetId === undefined ? '' : `, asset ${outcome.createdAssetId}`
  return `round ${round}  ${transaction.decoded.id}  ${describe(transaction.txn, state)}${created}`
}

export function rejected(txn: Txn, error: unknown, state: StateReader): string {
  return `rejected  ${describe(txn, state)}: ${printable((error as Error).message)}`
}

/** Reasons quote input, which must not control a terminal. */
function printable(text: string): string {
  return VisibleText.replaceHidden(text, (letter) => `\\u{${letter.codePointAt(0)!.toString(16)}}`)
}

export function describe(txn: Txn, state: StateReader): string {
  const rekey = txn.rekey === undefined ? '' : `, rekeyed to ${short(txn.rekey)}`
  return `${short(txn.snd)} ${effect(txn, state)}${rekey} (fee ${Amount.formatAlgos(txn.fee ?? 0n)})`
}

function effect(txn: Txn, state: StateReader): string {
  switch (txn.type) {
    case 'pay': {
      const pays = `pays ${Amount.formatAlgos(txn.amt ?? 0n)} to ${short(txn.rcv)}`
      return txn.close === undefined ? pays : `${pays} and closes to ${short(txn.close)}`
    }
    case 'axfer':
      return assetTransfer(txn, state)
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

function assetTransfer(txn: Txn, state: StateReader): string {
  const asset = state.asset(txn.xaid ?? 0n)
  const amount = `${Amount.formatGrouped(txn.aamt ?? 0n, asset?.decimals ?? 0)} of asset ${txn.xaid ?? 0n}`
  if (txn.asnd !== undefined) return `claws back ${amount} from ${short(txn.asnd)} to ${short(txn.arcv)}`
  const isToItself = txn.arcv !== undefined && MapKey.of(txn.arcv) === MapKey.of(txn.snd)
  if (isToItself && txn.aamt === undefined && txn.aclose === undefined) return `opts in to asset ${txn.xaid ?? 0n}`
  const sends = `sends ${amount} to ${short(txn.arcv)}`
  return txn.aclose === undefined ? sends : `${sends} and closes out to ${short(txn.aclose)}`
}

function short(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? 'the zero address' : `${Address.encode(bytes).slice(0, 8)}…`
}
