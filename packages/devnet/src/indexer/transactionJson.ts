/** Transactions in the format of an indexer. */
import { Address, Bytes, Hash, type Multisig, Submission, type Transaction } from '@latchkey/algorand'
import type { EvalDelta } from '@latchkey/avm'
import type { Outcome } from '../ledger/apply/index.js'
import type * as Block from '../ledger/Block.js'
import * as MapKey from '../ledger/MapKey.js'
import * as Delta from '../ledger/programs/Delta.js'
import { deltaMembers as deltaMembersOfNode } from '../rest/effectsValue.js'
import type { Value } from '../rest/HttpResponse.js'
import { textMembers } from './assetJson.js'

type Txn = Transaction.Transaction
type Members = { readonly [name: string]: Value | undefined }

export function transactionJson(block: Block.Block, intra: number): Value {
  const { key, signed: bytes, outcome } = block.transactions[intra]!
  const { signed } = Submission.decodeFirst(bytes)
  const { txn, sgnr } = signed
  const { delta, ...effects } = outcome
  const place = { block, intra }
  return {
    ...membersOf(txn, effects, place),
    ...(delta && deltaMembers(Delta.decode(delta), txn, place)),
    'auth-addr': optionalAddress(sgnr),
    'genesis-hash': txn.gh,
    'genesis-id': txn.gen,
    id: Hash.toText(MapKey.bytes(key)),
    signature: signatureJson(signed),
  }
}

type Effects = Omit<Outcome, 'delta'>
type Place = { readonly block: Block.Block; readonly intra: number }

/** The members that inner transactions have too. */
function membersOf(txn: Txn, effects: Effects, { block, intra }: Place): Members {
  return {
    ...typeMembers(txn, effects),
    'close-rewards': 0,
    'closing-amount': effects.closingAmount ?? 0n,
    'confirmed-round': block.round,
    'created-application-index': effects.createdAppId,
    'created-asset-index': txn.type === 'acfg' && txn.caid === undefined ? effects.createdAssetId : undefined,
    fee: txn.fee ?? 0n,
    'first-valid': txn.fv ?? 0n,
    group: txn.grp,
    'intra-round-offset': intra,
    'last-valid': txn.lv ?? 0n,
    lease: nonZero(txn.lx),
    note: nonZero(txn.note),
    'receiver-rewards': 0,
    'rekey-to': optionalAddress(txn.rekey),
    'round-time': block.timestamp,
    sender: Address.encode(txn.snd),
    'sender-rewards': 0,
    'tx-type': txn.type,
  }
}

function deltaMembers(delta: EvalDelta, txn: Txn, place: Place): Members {
  const { 'inner-txns': _, ...changes } = deltaMembersOfNode(delta, txn)
  const inners = delta.inners.map(({ txn: inner, effects: { delta: nested, ...effects } }) => ({
    ...membersOf(inner, effects, place),
    ...(nested && deltaMembers(nested, inner, place)),
  }))
  return { ...changes, 'inner-txns': inners.length === 0 ? undefined : inners }
}

function typeMembers(txn: Txn, outcome: Effects): Members {
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
    case 'appl':
      return { 'application-transaction': applicationCall(txn) }
    case 'keyreg':
      return { 'keyreg-transaction': keyRegistration(txn) }
    default:
      return {}
  }
}

function payment(txn: Txn, outcome: Effects): Value {
  return {
    amount: txn.amt ?? 0n,
    'close-amount': outcome.closingAmount ?? 0n,
    'close-remainder-to': optionalAddress(txn.close),
    receiver: address(txn.rcv),
  }
}

function assetTransfer(txn: Txn, outcome: Effects): Value {
  return {
    amount: txn.aamt ?? 0n,
    'asset-id': txn.xaid ?? 0n,
    'close-amount': outcome.assetClosingAmount ?? 0n,
    'close-to': optionalAddress(txn.aclose),
    receiver: address(txn.arcv),
    sender: optionalAddress(txn.asnd),
  }
}

const completions = ['noop', 'optin', 'closeout', 'clear', 'update', 'delete']

function applicationCall(txn: Txn): Value {
  const { apap, apsu, apgs, apls, apaa = [], apat = [], apfa = [], apas = [], apbx = [] } = txn
  const isCreation = txn.apid === undefined
  return {
    accounts: apat.map((bytes) => Address.encode(bytes)),
    'application-args': apaa,
    'application-id': txn.apid ?? 0n,
    'approval-program': apap,
    'box-references':
      apbx.length === 0
        ? undefined
        : apbx.map(({ i = 0n, n = new Uint8Array() }) => ({ app: boxApp(i, txn), name: n })),
    'clear-state-program': apsu,
    'extra-program-pages': txn.apep,
    'foreign-apps': apfa,
    'foreign-assets': apas,
    'global-state-schema': schemaJson(apgs, isCreation),
    'local-state-schema': schemaJson(apls, isCreation),
    'on-completion': completions[Number(txn.apan ?? 0n)],
    'reject-version': txn.aprv,
  }
}

/** Index 0 is the called application. */
function boxApp(index: bigint, { apid = 0n, apfa = [] }: Txn): bigint {
  return index === 0n ? apid : (apfa[Number(index) - 1] ?? 0n)
}

function schemaJson(schema: Txn['apgs'], isCreation: boolean): Value | undefined {
  if (schema === undefined && !isCreation) return undefined
  return { 'num-byte-slice': schema?.nbs ?? 0n, 'num-uint': schema?.nui ?? 0n }
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

function signatureJson({ sig, msig, lsig, pqsig }: Submission.Submitted): Value {
  return {
    logicsig: lsig && {
      args: (lsig.arg ?? []).map((argument) => argument),
      logic: lsig.l ?? new Uint8Array(),
      'logic-multisig-signature': lsig.lmsig && multisigJson(lsig.lmsig),
      'multisig-signature': lsig.msig && multisigJson(lsig.msig),
      pqsig: lsig.pqsig && postQuantumJson(lsig.pqsig),
      signature: lsig.sig,
    },
    multisig: msig && multisigJson(msig),
    pqsig: pqsig && postQuantumJson(pqsig),
    sig,
  }
}

function postQuantumJson({ sch, slt, pk, sig }: Submission.PostQuantumSignature): Value {
  return { 'public-key': pk, salt: slt || undefined, scheme: Buffer.from(sch ?? []).toString(), signature: sig }
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
