/** The genesis document in msgpack, whose hash identifies the network, and in JSON, as nodes serve it. */
import { Msgpack } from '@latchkey/algorand'
import type { Participation, Status } from './Account.js'
import * as Consensus from './Consensus.js'

/** The initial state of an account. */
export type Allocation = {
  readonly address: string
  readonly comment: string
  readonly microAlgos: bigint
  readonly status: Status
  /** The keys of an online account. */
  readonly participation?: Participation | undefined
}

/** The parts of a genesis id. */
export type NetworkName = { readonly network: string; readonly version: string }

export type GenesisDocument = {
  readonly allocations: readonly Allocation[]
  readonly name: NetworkName
  readonly feeSink: string
  readonly rewardsPool: string
}

type Field = readonly [name: string, value: bigint | Uint8Array]

const statusNumbers: { readonly [status in Status]: bigint } = { Offline: 0n, Online: 1n, 'Not Participating': 2n }

/** Sorted by name, without zero values. */
function stateFields({ microAlgos, status, participation }: Allocation): Field[] {
  const fields: Field[] = [
    ['algo', microAlgos],
    ['onl', statusNumbers[status]],
  ]
  if (participation !== undefined) {
    const { selectionKey, stateProofKey, voteKey, firstRound, keyDilution, lastRound } = participation
    fields.push(['sel', selectionKey], ['stprf', stateProofKey], ['vote', voteKey])
    fields.push(['voteFst', firstRound], ['voteKD', keyDilution], ['voteLst', lastRound])
  }
  return fields.filter(([, value]) => value !== 0n)
}

/** Unlike elsewhere, empty parts of an allocation are written. */
export function encode({ allocations, name, feeSink, rewardsPool }: GenesisDocument): Uint8Array {
  const writer = new Msgpack.Writer().mapHeader(7).str('alloc').arrayHeader(allocations.length)
  for (const allocation of allocations) {
    const fields = stateFields(allocation)
    writer.mapHeader(3).str('addr').str(allocation.address).str('comment').str(allocation.comment)
    writer.str('state').mapHeader(fields.length)
    for (const [key, value] of fields) {
      writer.str(key)
      if (typeof value === 'bigint') writer.uint(value)
      else writer.bin(value)
    }
  }
  writer.str('devmode').bool(true).str('fees').str(feeSink).str('id').str(name.version)
  return writer.str('network').str(name.network).str('proto').str(Consensus.version).str('rwd').str(rewardsPool).bytes()
}

export function toJson({ allocations, name, feeSink, rewardsPool }: GenesisDocument): string {
  const alloc = allocations.map((allocation) => ({
    addr: allocation.address,
    comment: allocation.comment,
    state: Object.fromEntries(stateFields(allocation).map(([key, value]) => [key, jsonValue(value)])),
  }))
  const document = {
    alloc,
    devmode: true,
    fees: feeSink,
    id: name.version,
    network: name.network,
    proto: Consensus.version,
    rwd: rewardsPool,
  }
  return `${JSON.stringify(document, undefined, 2).replace(/"#([0-9]+)#"/g, '$1')}\n`
}

/** Amounts above 2^53 are not safe numbers, so they are inserted as text. */
function jsonValue(value: bigint | Uint8Array): string {
  return typeof value === 'bigint' ? `#${value}#` : Buffer.from(value).toString('base64')
}
