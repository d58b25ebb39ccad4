/** Checks a transaction independently of the ledger's state, in the order in which nodes check it. */
import { Address, type Transaction } from '@latchkey/algorand'
import * as Consensus from './Consensus.js'
import { checkApplicationCall } from './checkApplicationCall.js'
import * as MapKey from './MapKey.js'

type Txn = Transaction.Transaction
export type SpecialAddresses = { readonly feeSink: MapKey.MapKey; readonly rewardsPool: MapKey.MapKey }

/** Returns the reason to reject it, or undefined. */
export function checkWellFormed(txn: Txn, special: SpecialAddresses): string | undefined {
  return ofType(txn, special) ?? ofOtherTypes(txn) ?? ofAny(txn, special)
}

function ofType(txn: Txn, special: SpecialAddresses): string | undefined {
  switch (txn.type) {
    case 'pay':
      return payment(txn, special)
    case 'axfer':
      return assetTransfer(txn)
    case 'acfg':
      return assetConfig(txn)
    case 'afrz':
      return assetFreeze(txn)
    case 'keyreg':
      return keyRegistration(txn, special)
    case 'appl':
      return checkApplicationCall(txn)
    case 'stpf':
      return 'state proofs not supported by this development ledger'
    case 'hb':
      return 'heartbeat transaction not supported by this development ledger'
    default:
      return `unknown tx type ${txn.type}`
  }
}

function payment(txn: Txn, { feeSink }: SpecialAddresses): string | undefined {
  const sender = MapKey.of(txn.snd)
  // Nodes compare even without a close address, so a payment from the zero address closes to its sender.
  if (MapKey.ofField(txn.close) === sender) {
    return `transaction cannot close account to its sender ${Address.encode(txn.snd)}`
  }
  return sender === feeSink ? `cannot spend from fee sink address ${Address.encode(txn.snd)}` : undefined
}

function assetTransfer(txn: Txn): string | undefined {
  if (txn.xaid === undefined && txn.aamt !== undefined) return 'asset ID cannot be zero'
  return txn.asnd !== undefined && txn.aclose !== undefined ? 'cannot close asset by clawback' : undefined
}

function assetConfig({ apar }: Txn): string | undefined {
  const name = lengthOf(apar?.an)
  const unitName = lengthOf(apar?.un)
  const url = lengthOf(apar?.au)
  const { maxAssetNameBytes, maxAssetUnitNameBytes, maxAssetUrlBytes, maxAssetDecimals } = Consensus
  if (name > maxAssetNameBytes) return `transaction asset name too big: ${name} > ${maxAssetNameBytes}`
  if (unitName > maxAssetUnitNameBytes) {
    return `transaction asset unit name too big: ${unitName} > ${maxAssetUnitNameBytes}`
  }
  if (url > maxAssetUrlBytes) return `transaction asset url too big: ${url} > ${maxAssetUrlBytes}`
  if ((apar?.dc ?? 0) > maxAssetDecimals) return `transaction asset decimals is too high (max is ${maxAssetDecimals})`
  return undefined
}

function lengthOf(text: string | Uint8Array | undefined): number {
  return text === undefined ? 0 : Buffer.byteLength(text)
}

function assetFreeze(txn: Txn): string | undefined {
  if (txn.faid === undefined) return 'asset ID cannot be zero'
  return txn.fadd === undefined ? 'freeze account cannot be empty' : undefined
}

function keyRegistration(txn: Txn, { feeSink }: SpecialAddresses): string | undefined {
  if (MapKey.of(txn.snd) === feeSink) {
    return `cannot register participation key for fee sink's address ${Address.encode(txn.snd)}`
  }
  const first = txn.votefst ?? 0n
  const last = txn.votelst ?? 0n
  if (first > last) return 'transaction first voting round need to be less than its last voting round'
  const keys = [txn.votekey, txn.selkey, txn.votekd].filter((field) => field !== undefined).length
  if (keys !== 0 && keys !== 3) {
    return 'the following transaction fields need to be clear/set together : votekey, selkey, votekd'
  }
  return keys === 0 ? goingOffline(txn) : goingOnline(txn, first, last)
}

function goingOffline(txn: Txn): string | undefined {
  if (txn.votefst !== undefined || txn.votelst !== undefined) {
    return 'on going offline key registration transaction, the vote first and vote last fields should not be set'
  }
  if (txn.sprfkey === undefined) return undefined
  return txn.nonpart === true
    ? 'non participation keyreg transactions should contain empty stateProofPK'
    : 'offline keyreg transactions should contain empty stateProofPK'
}

function goingOnline(txn: Txn, first: bigint, last: bigint): string | undefined {
  const trying = 'transaction tries to register keys to go online, but'
  if (last === 0n) return `${trying} vote last is set to zero`
  if (first > (txn.lv ?? 0n) + 1n) return `${trying} first voting round is beyond the round after last valid round`
  if (txn.nonpart === true) return `${trying} nonparticipatory flag is set`
  if (last - first > Consensus.maxKeyRegistrationRounds) return 'validity period for keyreg transaction is too long'
  return txn.sprfkey === undefined ? 'online keyreg transaction cannot have empty field StateProofPK' : undefined
}

const fieldsOf: { readonly [type: string]: readonly (keyof Txn)[] } = {
  pay: ['rcv', 'amt', 'close'],
  keyreg: ['votekey', 'selkey', 'sprfkey', 'votefst', 'votelst', 'votekd', 'nonpart'],
  acfg: ['caid', 'apar'],
  axfer: ['xaid', 'aamt', 'asnd', 'arcv', 'aclose'],
  afrz: ['fadd', 'faid', 'afrz'],
  // biome-ignore format: one line
  appl: ['apid', 'apan', 'apaa', 'apat', 'apfa', 'apas', 'apbx', 'al', 'apls', 'apgs', 'apap', 'apsu', 'apep', 'aprv'],
  stpf: ['sptype', 'sp', 'spmsg'],
  hb: ['hb'],
}

const typeOf = new Map(Object.entries(fieldsOf).flatMap(([type, fields]) => fields.map((field) => [field, type])))

function ofOtherTypes(txn: Txn): string | undefined {
  for (const field in txn) {
    const type = typeOf.get(field as keyof Txn)
    if (type !== undefined && type !== txn.type && txn[field as keyof Txn] !== undefined) {
      return `transaction of type ${txn.type} has non-zero fields for type ${type}`
    }
  }
  return undefined
}

function ofAny(txn: Txn, { rewardsPool }: SpecialAddresses): string | undefined {
  const first = txn.fv ?? 0n
  const last = txn.lv ?? 0n
  if (last < first) return `transaction invalid range (${first}--${last})`
  if (last - first > Consensus.maxValidityRounds) return `transaction window size excessive (${first}--${last})`
  const noteBytes = txn.note?.length ?? 0
  if (noteBytes > Consensus.maxNoteBytes) return `transaction note too big: ${noteBytes} > ${Consensus.maxNoteBytes}`
  const sender = MapKey.of(txn.snd)
  if (sender === rewardsPool) return 'transaction from incentive pool is invalid'
  return sender === MapKey.zero ? 'transaction cannot have zero sender' : undefined
}

/** A network: its special addresses, and what transactions name it by. */
export type Chain = SpecialAddresses & {
  readonly genesisId: string
  readonly genesisHash: MapKey.MapKey
}
