/** How full blocks are, and the resulting tax on fees. Headers record both; nodes do not charge the tax yet. */
import { Msgpack } from '@latchkey/algorand'
import type { Entry } from './Commitment.js'
import * as Consensus from './Consensus.js'

/** Both in millionths: of the largest block, and of the minimum fee. */
export type Load = { readonly load: bigint; readonly tax: bigint }

const million = 1_000_000n
/** A block with this load does not change the tax. */
const target = million / 2n
/** A full block adds this to the tax and multiplies it by as much more; an empty one does the opposite. */
const maxChange = million / 10n

/** The load of a block with these transactions. */
export function of(entries: readonly Entry[]): bigint {
  const bytes = entries.reduce((sum, { entry }) => sum + entry.length, 0)
  return (BigInt(bytes) * million) / BigInt(Consensus.maxBlockTransactionBytes)
}

/** Reads the load and tax of a header. Names are in order, so those after the load are not read. */
export function ofHeader(header: Uint8Array): Load {
  const reader = new Msgpack.Reader(header)
  const found = { ct: 0n, ld: 0n }
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    if (name > 'ld') break
    if (name === 'ct' || name === 'ld') found[name] = reader.uint()
    else reader.skip()
  }
  return { load: found.ld, tax: found.ct }
}

/** Returns the tax of the next block. */
export function nextTax({ load, tax }: Load): bigint {
  if (load <= target) {
    const down = (maxChange * (target - load)) / target
    const lowered = (tax * (million - down)) / million
    return lowered > down ? lowered - down : 0n
  }
  const up = (maxChange * (load - target)) / target
  const raised = (tax * (million + up)) / million + up
  return raised > Consensus.maxUint64 ? Consensus.maxUint64 : raised
}
