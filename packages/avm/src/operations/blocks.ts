/** Operations on block headers. */
import { Bytes } from '@latchkey/algorand'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { BlockHeader } from '../evaluator/Ledger.js'
import type { Machine } from '../evaluator/Machine.js'
import type { Value } from '../evaluator/Value.js'
import * as Fields from '../opcodes/Fields.js'
import type { Operations } from './Operation.js'

const readers: { readonly [name: string]: (header: BlockHeader) => Value } = {
  BlkSeed: ({ seed }) => seed,
  BlkTimestamp: ({ timestamp }) => timestamp,
  BlkProposer: ({ proposer }) => proposer,
  BlkFeesCollected: ({ feesCollected }) => feesCollected,
  BlkBonus: ({ bonus }) => bonus,
  BlkBranch: ({ branch }) => branch,
  BlkFeeSink: ({ feeSink }) => feeSink,
  BlkProtocol: ({ protocol }) => Bytes.fromUtf8(protocol),
  BlkTxnCounter: ({ transactionCounter }) => transactionCounter,
  BlkProposerPayout: ({ proposerPayout }) => proposerPayout,
  BlkBranch512: ({ branch512 }) => branch512,
  BlkSha512_256TxnCommitment: ({ sha512_256Commitment }) => sha512_256Commitment,
  BlkSha256TxnCommitment: ({ sha256Commitment }) => sha256Commitment,
  BlkSha512TxnCommitment: ({ sha512Commitment }) => sha512Commitment,
}

/** Fields of earlier blocks. */
export const blocks: Operations = {
  block: (machine) => {
    const byte = machine.immediate(1)
    const field = Fields.withByte('block', byte)
    const header = headerAt(machine, machine.stack.at(-1) as bigint)
    if (field === undefined || field.version > machine.version) {
      throw new EvaluationError(`invalid block field ${Fields.nameOf('block', byte)}`)
    }
    machine.replace(1, readers[field.name]!(header))
  },
}

/**
 * The header of a round that is certainly known to every node that evaluates the transaction: before its first valid
 * round, and after the rounds that a node may have dropped by its last valid round.
 *
 * @throws EvaluationError for other rounds.
 */
export function headerAt({ context, index }: Machine, round: bigint): BlockHeader {
  const { fv = 0n, lv = 0n } = context.group[index]!
  const oldest = lv - context.parameters.maxTxnLife - 1n
  const first = oldest < 1n ? 1n : oldest
  const last = fv === 0n ? 0n : fv - 1n
  if (round >= first && round <= last) return context.ledger.blockHeader(round)
  const shown = BigInt.asUintN(64, round)
  throw new EvaluationError(`round ${shown} is not available. It's outside [${first}-${last}]`)
}
