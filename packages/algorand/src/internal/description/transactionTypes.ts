// Describes the effect of each type of transaction. Description.ts describes the fields that all types share.
import * as Bytes from '../Bytes.js'
import { applicationCall } from './applicationCall.js'
import { assetConfiguration } from './assetConfiguration.js'
import type { DescriptionBuilder } from './DescriptionBuilder.js'
import { address, algos, grouped, quoted, unknownEffect } from './format.js'

/** Describes one type of transaction. */
export type TypeDescriber = {
  describe: (builder: DescriptionBuilder) => void
  /** The fields that belong to the type. */
  fields: readonly string[]
}

/** A map, because the type is untrusted text that must not match members that objects inherit. */
export const typeDescribers: ReadonlyMap<string, TypeDescriber> = new Map<string, TypeDescriber>([
  ['pay', { describe: payment, fields: ['rcv', 'amt', 'close'] }],
  ['axfer', { describe: assetTransfer, fields: ['xaid', 'aamt', 'asnd', 'arcv', 'aclose'] }],
  ['acfg', { describe: assetConfiguration, fields: ['caid', 'apar'] }],
  ['afrz', { describe: assetFreeze, fields: ['faid', 'fadd', 'afrz'] }],
  [
    'keyreg',
    {
      describe: keyRegistration,
      fields: ['votekey', 'selkey', 'sprfkey', 'votefst', 'votelst', 'votekd', 'nonpart'],
    },
  ],
  [
    'appl',
    {
      describe: applicationCall,
      // biome-ignore format: one line
      fields: ['apid', 'apan', 'apaa', 'apat', 'apfa', 'apas', 'apbx', 'al', 'apls', 'apgs', 'apap', 'apsu', 'apep', 'aprv'],
    },
  ],
  ['stpf', { describe: stateProof, fields: ['sptype', 'sp', 'spmsg'] }],
  ['hb', { describe: heartbeat, fields: ['hb'] }],
])

function payment(builder: DescriptionBuilder): void {
  const { snd, rcv, amt = 0n, close } = builder.transaction
  // A closing payment only names a receiver if part of it goes elsewhere.
  if (!(amt === 0n && isZeroAddress(rcv) && close !== undefined)) {
    builder.add(`Pays ${algos(amt)} to ${receiver(builder, rcv, amt)}.`)
  }
  if (isZeroAddress(close)) return
  builder.add(`Closes the account: the remaining balance goes to ${address(close)}.`)
  builder.warnFinal(`It closes ${address(snd)}: the remaining ALGO goes to ${address(close)}.`)
  if (Bytes.equal(close!, snd)) builder.warn('It closes the account to itself, which the network rejects.')
}

function assetTransfer(builder: DescriptionBuilder): void {
  const { snd, xaid = 0n, aamt = 0n, arcv, asnd, aclose } = builder.transaction
  const isOptIn =
    aamt === 0n && isZeroAddress(asnd) && isZeroAddress(aclose) && arcv !== undefined && Bytes.equal(arcv, snd)
  if (isOptIn) {
    builder.add(`Opts in to ${builder.assetName(xaid)}: the account may then hold it, and must keep 0.1 ALGO more.`)
    return
  }
  // Closing to itself is only possible with an empty holding, so nothing can be lost.
  if (aamt === 0n && isZeroAddress(asnd) && aclose !== undefined && Bytes.equal(aclose, snd)) {
    builder.add(
      `Opts out of ${builder.assetName(xaid)}: the account may then not hold it, and need not keep 0.1 ALGO for it. The network rejects this if the account still holds some.`,
    )
    return
  }
  if (!isZeroAddress(asnd)) {
    builder.add(
      `Claws back ${builder.assetAmount(aamt, xaid)} from ${address(asnd)} to ${receiver(builder, arcv, aamt)}.`,
    )
    builder.warnFinal(
      `It takes ${builder.assetAmount(aamt, xaid)} from another account, ${address(asnd)}, by clawback.`,
    )
  } else if (!(aamt === 0n && !isZeroAddress(aclose))) {
    builder.add(`Sends ${builder.assetAmount(aamt, xaid)} to ${receiver(builder, arcv, aamt)}.`)
  }
  if (isZeroAddress(aclose)) return
  builder.add(`Closes the holding of ${builder.assetName(xaid)}: the remaining balance goes to ${address(aclose)}.`)
  builder.warnFinal(
    `It closes the holding of ${builder.assetName(xaid)} of ${address(snd)}: the remaining balance goes to ${address(aclose)}.`,
  )
}

/** Returns the receiver's address. Warns if the amount would be lost. */
function receiver(builder: DescriptionBuilder, to: Uint8Array | undefined, amount: bigint): string {
  if (isZeroAddress(to)) {
    if (amount > 0n) builder.warnFinal('The receiver is the zero address, which has no key: the amount is lost.')
    return `the zero address, ${address(to)}`
  }
  const { snd, asnd } = builder.transaction
  if (Bytes.equal(to!, isZeroAddress(asnd) ? snd : asnd!)) builder.warn('Sender and receiver are the same account.')
  return address(to)
}

function assetFreeze(builder: DescriptionBuilder): void {
  const { fadd, faid = 0n, afrz } = builder.transaction
  const account = isZeroAddress(fadd) ? 'the zero address' : address(fadd)
  const effect = afrz ? 'it can then neither send nor receive it' : 'it can then send and receive it again'
  builder.add(`${afrz ? 'Freezes' : 'Unfreezes'} the holding of ${builder.assetName(faid)} of ${account}: ${effect}.`)
}

const eligibilityFee = 2_000_000n

function keyRegistration(builder: DescriptionBuilder): void {
  const { fee = 0n, votekey, selkey, votefst = 0n, votelst = 0n, nonpart, snd } = builder.transaction
  if (nonpart) {
    builder.add('Takes the account out of consensus permanently: it never votes again and earns no rewards.')
    builder.warnFinal(`It marks ${address(snd)} as non-participating permanently: no later transaction can undo that.`)
    return
  }
  if (votekey === undefined && selkey === undefined) {
    builder.add('Takes the account offline: it does not vote until it registers keys again.')
    return
  }
  builder.add(
    `Brings the account online: its participation keys vote from round ${grouped(votefst)} to round ${grouped(votelst)}.`,
  )
  if (fee >= eligibilityFee) builder.add('A fee of 2 ALGO or more makes it eligible for block rewards.')
}

function stateProof(builder: DescriptionBuilder): void {
  builder.add('A state proof, which the network itself creates.')
  builder.warn('No account signs a state proof: a signature on it has no effect.')
}

function heartbeat(builder: DescriptionBuilder): void {
  const account = builder.transaction.hb?.a
  builder.add(`A heartbeat: shows that the participation keys of ${address(account)} are in use.`)
}

export function describeUnknownType(builder: DescriptionBuilder): void {
  builder.add(`A transaction of an unknown type: ${quoted(builder.transaction.type)}.`)
  builder.warnFinal(unknownEffect)
}

function isZeroAddress(publicKey: Uint8Array | undefined): boolean {
  return publicKey === undefined || Bytes.isZero(publicKey)
}
