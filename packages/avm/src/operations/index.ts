import { applications } from './applications.js'
import { arithmetic } from './arithmetic.js'
import { blocks } from './blocks.js'
import { boxes } from './boxes.js'
import { byteMath } from './byteMath.js'
import { byteStrings } from './byteStrings.js'
import { constants } from './constants.js'
import { curves } from './curves.js'
import { effects } from './effects.js'
import { encodings } from './encodings.js'
import { flow } from './flow.js'
import { globals } from './globals.js'
import { hashes } from './hashes.js'
import { innerTransactions } from './innerTransactions.js'
import { lookups } from './lookups.js'
import type { Operation } from './Operation.js'
import { scratch } from './scratch.js'
import { signatures } from './signatures.js'
import { stack } from './stack.js'
import { subroutines } from './subroutines.js'
import { transactions } from './transactions.js'

/** Every operation by the name of its instruction. */
export const operations: ReadonlyMap<string, Operation> = new Map(
  [
    applications,
    arithmetic,
    blocks,
    boxes,
    byteMath,
    byteStrings,
    constants,
    curves,
    effects,
    encodings,
    flow,
    globals,
    hashes,
    innerTransactions,
    lookups,
    scratch,
    signatures,
    stack,
    subroutines,
    transactions,
  ].flatMap((table) => Object.entries(table)),
)
