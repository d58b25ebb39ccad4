/** Checks an application call independently of the ledger's state, in the order in which nodes check it. */
import type { Transaction } from '@latchkey/algorand'
import * as Consensus from './Consensus.js'
import { versionOf } from './programs/programVersion.js'

type Txn = Transaction.Transaction
type Schema = NonNullable<Txn['apgs']>

const updates = 4n
const lastCompletion = 5n
/** From this version on, the approval and the clear state program have the same version. */
const firstEqualVersion = 6n
const limits = Consensus.applicationCall

/** Returns the reason to reject it, or undefined. */
export function checkApplicationCall(txn: Txn): string | undefined {
  return ofCompletion(txn) ?? ofPrograms(txn) ?? ofSizes(txn) ?? ofReferences(txn) ?? ofSchemas(txn)
}

function ofCompletion({ apan = 0n, apid, apap, apsu, aprv }: Txn): string | undefined {
  if (apan > lastCompletion) return `invalid application OnCompletion (${apan})`
  const hasPrograms = apap !== undefined || apsu !== undefined
  if (hasPrograms && apid !== undefined && apan !== updates) {
    return 'programs may only be specified during application creation or update'
  }
  return aprv !== undefined && apid === undefined ? 'tx.RejectVersion cannot be set during creation' : undefined
}

function ofPrograms({ apid, apan, apap, apsu }: Txn): string | undefined {
  if (apid !== undefined && apan !== updates) return undefined
  const [approval, clearState] = [versionOf(apap), versionOf(apsu)]
  if (typeof approval === 'string') return `bad ApprovalProgram: ${approval}`
  if (typeof clearState === 'string') return `bad ClearStateProgram: ${clearState}`
  const isBound = approval >= firstEqualVersion || clearState >= firstEqualVersion
  return isBound && approval !== clearState ? `program version mismatch: ${approval} != ${clearState}` : undefined
}

/** The sizes of an application are set when it is created; an update can change those of its global state and pages. */
function ofSizes({ apid, apan, apls, apgs, apep = 0, apap, apsu }: Txn): string | undefined {
  if (apep > limits.maxExtraPages)
    return `tx.ExtraProgramPages exceeds MaxAbsoluteExtraProgramPages = ${limits.maxExtraPages}`
  if (apid !== undefined) {
    const isUpdate = apan === updates
    if (apls !== undefined) return `inappropriate non-zero tx.LocalStateSchema (${schemaText(apls)})`
    if (apgs !== undefined && !isUpdate) return `inappropriate non-zero tx.GlobalStateSchema (${schemaText(apgs)})`
    if (apep !== 0 && !isUpdate) return `inappropriate non-zero tx.ExtraProgramPages (${apep})`
  }
  // The pages of an application that keeps its sizes are not known here.
  const keepsSizes = apid !== undefined && apep === 0 && apgs === undefined
  const pages = 1 + (keepsSizes ? limits.maxExtraPages : apep)
  const most = pages * limits.pageBytes
  const [approval, clearState] = [apap?.length ?? 0, apsu?.length ?? 0]
  if (approval > most) return `approval program too long. (${approval} > ${most})`
  if (clearState > most) return `clear state program too long. (${clearState} > ${most})`
  return approval + clearState > most ? `app programs too long. (${approval} + ${clearState} > ${most})` : undefined
}

function schemaText({ nui = 0n, nbs = 0n }: Schema): string {
  return `{NumUint:${nui} NumByteSlice:${nbs}}`
}

function ofReferences(txn: Txn): string | undefined {
  return ofArguments(txn.apaa ?? []) ?? (txn.al === undefined ? ofLists(txn) : ofAccess(txn))
}

function ofArguments(args: readonly Uint8Array[]): string | undefined {
  const { maxArguments, maxArgumentBytes, maxArgumentsBytes } = limits
  if (args.length > maxArguments) {
    return `tx.ApplicationArgs has too many arguments. ${args.length} > ${maxArguments}`
  }
  const long = args.findIndex(({ length }) => length > maxArgumentBytes)
  if (long >= 0) {
    return `tx.ApplicationArgs[${long}] length is too long. ${args[long]!.length} > ${maxArgumentBytes}`
  }
  const total = args.reduce((sum, { length }) => sum + length, 0)
  return total > maxArgumentsBytes
    ? `tx.ApplicationArgs total length is too long. ${total} > ${maxArgumentsBytes}`
    : undefined
}

function ofLists({ apat = [], apfa = [], apas = [], apbx = [] }: Txn): string | undefined {
  const most = limits.maxReferences
  if (apat.length > most) return `tx.Accounts too long, max number of accounts is ${most}`
  if (apfa.length > most) return `tx.ForeignApps too long, max number of foreign apps is ${most}`
  if (apas.length > most) return `tx.ForeignAssets too long, max number of foreign assets is ${most}`
  if (apbx.length > most) return `tx.Boxes too long, max number of box references is ${most}`
  if (apat.length + apfa.length + apas.length + apbx.length > most) {
    return `tx references exceed MaxAppTotalTxnReferences = ${most}`
  }
  for (const [index, { i = 0n, n }] of apbx.entries()) {
    if (i > BigInt(apfa.length)) return `tx.Boxes[${index}].Index is ${i}. Exceeds len(tx.ForeignApps)`
    if ((n?.length ?? 0) > limits.maxBoxNameBytes) {
      return `tx.Boxes[${index}].Name too long, max len ${limits.maxBoxNameBytes} bytes`
    }
  }
  return undefined
}

function ofAccess({ al = [], apid, apat, apfa, apas, apbx }: Txn): string | undefined {
  if (al.length > limits.maxAccess) return `tx.Access too long, max number of references is ${limits.maxAccess}`
  const others = { Accounts: apat, ForeignApps: apfa, ForeignAssets: apas, Boxes: apbx }
  for (const [name, list] of Object.entries(others)) {
    if (list !== undefined) return `tx.${name} can't be used when tx.Access is used`
  }
  for (const element of al) {
    if (apid === undefined && element.l !== undefined && element.l.p === undefined) {
      return '0 App in LocalsRef during app create is not allowed or necessary'
    }
    const problem = ofElement(element, al)
    if (problem !== undefined) return problem
  }
  return undefined
}

type Access = NonNullable<Txn['al']>
type Element = Access[number]

/** Holdings, local states and boxes refer to other elements, counted from 1. 0 is the sender or the application. */
function ofElement(element: Element, al: Access): string | undefined {
  const { h, l, b } = element
  const kinds = Object.values(element).filter((member) => member !== undefined).length
  if (kinds > 1) return 'tx.Access element has fields from multiple types'
  if (h !== undefined) {
    return (
      ofIndex('holding Address reference', h.d, al, 'd', 'an Address') ??
      ofIndex('holding Asset reference', h.s ?? 0n, al, 's', 'an Asset')
    )
  }
  if (l !== undefined) {
    return (
      ofIndex('locals Address reference', l.d, al, 'd', 'an Address') ??
      ofIndex('locals App reference', l.p, al, 'p', 'an App')
    )
  }
  if (b === undefined) return undefined
  if ((b.n?.length ?? 0) > limits.maxBoxNameBytes) return `box Name too long, max len ${limits.maxBoxNameBytes} bytes`
  return ofIndex('box Index', b.i, al, 'p', 'an App')
}

function ofIndex(
  what: string,
  index: bigint | undefined,
  al: Access,
  member: 'd' | 's' | 'p',
  kind: string,
): string | undefined {
  if (index === undefined) return undefined
  const element = index <= BigInt(al.length) ? al[Number(index) - 1] : undefined
  if (element === undefined) return `${what} ${index} outside tx.Access`
  return element[member] === undefined ? `${what} ${index} is not ${kind}` : undefined
}

function ofSchemas({ apls, apgs }: Txn): string | undefined {
  const sizeOf = ({ nui = 0n, nbs = 0n }: Schema): bigint => nui + nbs
  const [local, global] = [apls === undefined ? 0n : sizeOf(apls), apgs === undefined ? 0n : sizeOf(apgs)]
  const { maxLocalValues, maxGlobalValues } = limits
  if (local > maxLocalValues) return `tx.LocalStateSchema is too large. ${local} > ${maxLocalValues}`
  return global > maxGlobalValues ? `tx.GlobalStateSchema is too large. ${global} > ${maxGlobalValues}` : undefined
}
