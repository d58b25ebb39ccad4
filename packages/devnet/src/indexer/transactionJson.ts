/** Transactions in the format of an indexer. */
import { Address, Bytes, Hash, type Multisig, Submission, type Transaction } from '@latchkey/algorand'
import type { Outcome } from '../ledger/apply/index.js'
import type * as Block from '../ledger/Block.js'
import * as MapKey from '../ledger/MapKey.js'
import type { Value } from '../rest/ResponseValue.js'
import { textMembers } from './assetJson.js'

type Txn = Transaction.Transaction
type Members = { readonly [name: string]: Value | undefined }

export function transactionJson(block: Block.Block, intra: number): Value {
  const { key, signed: bytes, outcome } = block.transactions[intra]!
  const { signed } = Submission.decodeFirst(bytes)
  const { txn, sgnr } = signed
  return {
    ...typeMembers(txn, outcome),
    'auth-addr': optionalAddress(sgnr),
    'close-rewards': 0,
    'closing-amount': outcome.closingAmount ?? 0n,
    'confirmed-round': block.round,
    'created-asset-index': txn.type === 'acfg' && txn.caid === undefined ? outcome.createdAssetId : undefined,
    fee: txn.fee ?? 0n,
    'first-valid': txn.fv ?? 0n,
    'genesis-hash': txn.gh,
    'genesis-id': txn.gen,
    group: txn.grp,
    id: Hash.toText(MapKey.bytes(key)),
    'intra-round-offset': intra,
    'last-valid': txn.lv ?? 0n,
    lease: nonZero(txn.lx),
    note: nonZero(txn.note),
    'receiver-rewards': 0,
    'rekey-to': optionalAddress(txn.rekey),
    'round-time': block.timestamp,
    sender: Address.encode(txn.snd),
    'sender-rewards': 0,
    signature: signatureJson(signed),
    'tx-type': txn.type,
  }
}

function typeMembers(txn: Txn, outcome: Outcome): Members {
  switch (txn.type) {
    case 'pay':
      return { 'payment-transaction': payment(txn, outcome) }
    case 'axfer':
      return { 'asset-transfer-transaction': assetTransfer(txn, outcome) }
    case 'acfg':
      return { 'asset-config-transaction': { 'asset-id': txn.caid ?? 0n, params: assetParameters(txn) } }
    case 'afrz':
      return {
        'asset-freeze-transaction': {
          address: address(txn.fadd),
          'asset-id': txn.faid ?? 0n,
          'new-freeze-status': txn.afrz ?? false,
        },
      }
    case 'keyreg':
      return { 'keyreg-transaction': keyRegistration(txn) }
    default:
      return {}
  }
}

function payment(txn: Txn, outcome: Outcome): Value {
  return {
    amount: txn.amt ?? 0n,
    'close-amount': outcome.closingAmount ?? 0n,
    'close-remainder-to': optionalAddress(txn.close),
    receiver: address(txn.rcv),
  }
}

function assetTransfer(txn: Txn, outcome: Outcome): Value {
  return {
    amount: txn.aamt ?? 0n,
    'asset-id': txn.xaid ?? 0n,
    'close-amount': outcome.assetClosingAmount ?? 0n,
    'close-to': optionalAddress(txn.aclose),
    receiver: address(txn.arcv),
    sender: optionalAddress(txn.asnd),
  }
}

function assetParameters({ apar, snd }: Txn): Value | undefined {
  if (apar === undefined) return undefined
  return {
    clawback: optionalAddress(apar.c),
    creator: Address.encode(snd),
    decimals: apar.dc ?? 0,
    'default-frozen': apar.df ?? false,
    freeze: optionalAddress(apar.f),
    manager: optionalAddress(apar.m),
    'metadata-hash': nonZero(apar.am),
    ...textMembers('name', bytesOf(apar.an)),
    reserve: optionalAddress(apar.r),
    total: apar.t ?? 0n,
    ...textMembers('unit-name', bytesOf(apar.un)),
    ...textMembers('url', bytesOf(apar.au)),
  }
}

function keyRegistration(txn: Txn): Value {
  return {
    'non-participation': txn.nonpart ?? false,
    'selection-participation-key': nonZero(txn.selkey),
    'state-proof-key': nonZero(txn.sprfkey),
    'vote-first-valid': txn.votefst ?? 0n,
    'vote-key-dilution': txn.votekd ?? 0n,
    'vote-last-valid': txn.votelst ?? 0n,
    'vote-participation-key': nonZero(txn.votekey),
  }
}

function signatureJson({ sig, msig, lsig }: Submission.Submitted): Value {
  return {
    logicsig: lsig && {
      args: (lsig.arg ?? []).map((argument) => argument),
      logic: lsig.l ?? new Uint8Array(),
      'logic-multisig-signature': lsig.lmsig && multisigJson(lsig.lmsig),
      'multisig-signature': lsig.msig && multisigJson(lsig.msig),
      signature: lsig.sig,
    },
    multisig: msig && multisigJson(msig),
    sig,
  }
}

function multisigJson({ subsig, thr, v }: Multisig.Signature): Value {
  return {
    subsignature: subsig.map(({ pk, s }) => ({ 'public-key': nonZero(pk), signature: s })),
    threshold: thr,
    version: v,
  }
}

function address(bytes: Uint8Array | undefined): string {
  return MapKey.address(MapKey.ofField(bytes))
}

function optionalAddress(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined || Bytes.isZero(bytes) ? undefined : Address.encode(bytes)
}

/** Bytes that are all zero are omitted, even if they have a meaning, as in a note. */
function nonZero(bytes: Uint8Array | undefined): Uint8Array | undefined {
  return bytes === undefined || Bytes.isZero(bytes) ? undefined : bytes
}

function bytesOf(text: string | Uint8Array | undefined): Uint8Array {
  return new Uint8Array(Buffer.from(text ?? ''))
}
