// What each type of transaction does, apart from what all of them have in common.
import * as Bytes from '../Bytes.js'
import { applicationCall } from './applicationCall.js'
import { assetConfiguration } from './assetConfiguration.js'
import type { DescriptionBuilder } from './DescriptionBuilder.js'
import { address, algos, quoted } from './format.js'

export type Body = {
  tell: (tale: DescriptionBuilder) => void
  /** The fields that belong to the type. */
  fields: readonly string[]
}

/** A map: the type is a stranger's text, which must not find what every object inherits. */
export const bodies: ReadonlyMap<string, Body> = new Map<string, Body>([
  ['pay', { tell: payment, fields: ['rcv', 'amt', 'close'] }],
  ['axfer', { tell: assetTransfer, fields: ['xaid', 'aamt', 'asnd', 'arcv', 'aclose'] }],
  ['acfg', { tell: assetConfiguration, fields: ['caid', 'apar'] }],
  ['afrz', { tell: assetFreeze, fields: ['faid', 'fadd', 'afrz'] }],
  [
    'keyreg',
    {
      tell: keyRegistration,
      fields: ['votekey', 'selkey', 'sprfkey', 'votefst', 'votelst', 'votekd', 'nonpart'],
    },
  ],
  [
    'appl',
    {
      tell: applicationCall,
      // biome-ignore format: one line
      fields: ['apid', 'apan', 'apaa', 'apat', 'apfa', 'apas', 'apbx', 'al', 'apls', 'apgs', 'apap', 'apsu', 'apep', 'aprv'],
    },
  ],
  ['stpf', { tell: stateProof, fields: ['sptype', 'sp', 'spmsg'] }],
  ['hb', { tell: heartbeat, fields: ['hb'] }],
])

function payment(tale: DescriptionBuilder): void {
  const { snd, rcv, amt = 0n, close } = tale.transaction
  // A closing payment names a receiver only if part of it goes elsewhere.
  if (!(amt === 0n && isNobody(rcv) && close !== undefined)) {
    tale.add(`Pays ${algos(amt)} to ${receiver(tale, rcv, amt)}.`)
  }
  if (isNobody(close)) return
  tale.add(`Closes the account: everything left then goes to ${address(close)}.`)
  tale.warnFinal(`It closes ${address(snd)}: all ALGO left in it goes to ${address(close)}.`)
  if (Bytes.equal(close!, snd)) tale.warn('It closes the account to itself, which the network refuses.')
}

function assetTransfer(tale: DescriptionBuilder): void {
  const { snd, xaid = 0n, aamt = 0n, arcv, asnd, aclose } = tale.transaction
  const isOptIn = aamt === 0n && isNobody(asnd) && isNobody(aclose) && arcv !== undefined && Bytes.equal(arcv, snd)
  if (isOptIn) {
    tale.add(`Opts in to ${tale.assetName(xaid)}: the account may then hold it, and must keep 0.1 ALGO more.`)
    return
  }
  if (!isNobody(asnd)) {
    tale.add(`Claws back ${tale.assetAmount(aamt, xaid)} from ${address(asnd)} to ${receiver(tale, arcv, aamt)}.`)
    tale.warnFinal(`It takes ${tale.assetAmount(aamt, xaid)} out of another account, ${address(asnd)}, by clawback.`)
  } else if (!(aamt === 0n && !isNobody(aclose))) {
    tale.add(`Sends ${tale.assetAmount(aamt, xaid)} to ${receiver(tale, arcv, aamt)}.`)
  }
  if (isNobody(aclose)) return
  tale.add(`Gives up the holding of ${tale.assetName(xaid)}: everything left of it then goes to ${address(aclose)}.`)
  tale.warnFinal(`All that ${address(snd)} has left of ${tale.assetName(xaid)} goes to ${address(aclose)}.`)
}

/** The address, with warnings if money would go nowhere. */
function receiver(tale: DescriptionBuilder, to: Uint8Array | undefined, amount: bigint): string {
  if (isNobody(to)) {
    if (amount > 0n) tale.warnFinal('It goes to the zero address, whose key nobody has: it is lost.')
    return `the zero address, ${address(to)}`
  }
  const { snd, asnd } = tale.transaction
  if (Bytes.equal(to!, isNobody(asnd) ? snd : asnd!)) tale.warn('Sender and receiver are the same account.')
  return address(to)
}

function assetFreeze(tale: DescriptionBuilder): void {
  const { fadd, faid = 0n, afrz } = tale.transaction
  const account = isNobody(fadd) ? 'the zero address' : address(fadd)
  const effect = afrz ? 'it can then neither send nor receive any' : 'it can then send and receive again'
  tale.add(`${afrz ? 'Freezes' : 'Unfreezes'} the holding of ${tale.assetName(faid)} of ${account}: ${effect}.`)
}

const eligibilityFee = 2_000_000n

function keyRegistration(tale: DescriptionBuilder): void {
  const { fee = 0n, votekey, selkey, votefst = 0n, votelst = 0n, nonpart, snd } = tale.transaction
  if (nonpart) {
    tale.add('Takes the account out of consensus for ever: it never votes again and earns no rewards.')
    tale.warnFinal(`It marks ${address(snd)} as not taking part, for ever: no later transaction can undo that.`)
    return
  }
  if (votekey === undefined && selkey === undefined) {
    tale.add('Takes the account offline: it votes no more until it registers keys again.')
    return
  }
  tale.add(`Brings the account online: its participation keys vote from round ${votefst} to round ${votelst}.`)
  if (fee >= eligibilityFee) tale.add('A fee of 2 ALGO or more makes it eligible for block rewards.')
}

function stateProof(tale: DescriptionBuilder): void {
  tale.add('A state proof, which the network itself makes.')
  tale.warn('No account signs a state proof: a signature on it is good for nothing.')
}

function heartbeat(tale: DescriptionBuilder): void {
  const account = tale.transaction.hb?.a
  tale.add(`A heartbeat: shows that the participation keys of ${address(account)} are in use.`)
}

export function unknownType(tale: DescriptionBuilder): void {
  tale.add(`A transaction of a type that is not known here: ${quoted(tale.transaction.type)}.`)
  tale.warnFinal('What it does cannot be told: do not sign it unless you know by other means.')
}

function isNobody(publicKey: Uint8Array | undefined): boolean {
  return publicKey === undefined || Bytes.isZero(publicKey)
}
