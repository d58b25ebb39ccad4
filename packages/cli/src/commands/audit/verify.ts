/** `latchkey audit verify`: recomputes the chain of the audit log, and compares it with anchors on a ledger. */
import { existsSync } from 'node:fs'
import { type Anchor, AuditFile, type Problem } from '@latchkey/kmd'
import type { Chain } from '@latchkey/x402/client'
import { command, jsonOption } from '../../Command.js'
import { chainOptions, openReadingChain } from '../../chain.js'
import { daemonOptions, dataDirectory, withDaemon } from '../../daemon.js'
import { CommandError, UsageError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { counted, quoted } from '../../format.js'
import { printJson, printLine, printMessage, withProgress } from '../../messages.js'
import * as Indexer from '../../money/Indexer.js'
import { checkpointOf, findAnchor, isOf, type LedgerAnchor, requireAnchor } from './anchors.js'
import { openAuditFile } from './source.js'

type Ledger = { readonly chain: Chain; readonly indexer: Indexer.Place | undefined }

type Result = {
  readonly problem: Pick<Problem, 'type' | 'number' | 'message'> | undefined
  readonly records: number
  readonly headHash: string
  readonly anchors: readonly Anchor[]
  /** The anchors that were found on the ledger and match. */
  readonly confirmed: readonly LedgerAnchor[]
}

export const auditVerifyCommand = command({
  description: `Recompute every hash of the audit log and name the first record that was altered, removed or moved. The command reads the \
file directly: it needs no daemon and trusts none.`,
  options: {
    anchor: {
      type: 'string',
      multiple: true,
      placeholder: 'ID',
      description: 'id of a transaction that anchored the log, from your own records; repeatable',
    },
    'on-chain': { type: 'boolean', description: "look up the log's own anchors in the ledger" },
    'by-daemon': { type: 'boolean', description: 'let the daemon verify the log, if you cannot read its files' },
    ...chainOptions,
    indexer: {
      type: 'string',
      placeholder: 'URL',
      description: 'URL of an indexer of that network (INDEXER_URL, or a public one)',
    },
    ...daemonOptions,
    ...jsonOption,
  },
  notes: `A program that can write the files can create another log with valid hashes. Only an anchor whose id you keep on another \
machine reveals this: latchkey audit anchor prints the id, and --anchor takes it.`,
  examples: [
    'latchkey audit verify',
    'latchkey audit verify -d /backup/kmd-v0.5 --json',
    'latchkey audit verify --anchor ID --network testnet',
  ],
  exits: ['unreachable', 'broken'],
  run: async ({ options }) => {
    for (const id of options.anchor ?? []) checkId(id)
    if (options['by-daemon'] && (options.anchor ?? options['on-chain']) !== undefined) {
      throw new UsageError('--by-daemon excludes --anchor and --on-chain')
    }
    const result = options['by-daemon']
      ? await verifyByDaemon(options)
      : await verifyFile(dataDirectory(options['data-dir']), options.anchor ?? [], await openLedger(options))
    return report(result, options.json ?? false)
  },
})

function checkId(id: string): void {
  if (/^[A-Z2-7]{52}$/.test(id)) return
  throw new UsageError(`${quoted(id.slice(0, 80))} is not the id of a transaction`, {
    code: 'invalid_value',
    hint: 'an id has 52 letters and digits',
  })
}

type LedgerValues = Parameters<typeof openReadingChain>[0] & {
  readonly indexer?: string | undefined
  readonly anchor?: string[] | undefined
  readonly 'on-chain'?: boolean | undefined
}

async function openLedger(options: LedgerValues): Promise<Ledger | undefined> {
  if (options.anchor === undefined && !options['on-chain']) return undefined
  const chain = await openReadingChain(options, process.env)
  await chain.parameters()
  const isOwn = options.network === undefined || options.network === process.env['AVM_NETWORK']
  return { chain, indexer: Indexer.choose(options.indexer, chain.caip2, process.env, isOwn) }
}

async function verifyFile(dataDir: string, ids: readonly string[], ledger: Ledger | undefined): Promise<Result> {
  const given = await Promise.all(ids.map((id) => requireAnchor(ledger!.chain, ledger!.indexer, id)))
  const checkpoints = given.map(checkpointOf)
  if (!AuditFile.exists(dataDir)) return withoutFile(dataDir, given)
  const file = openAuditFile(dataDir)
  try {
    const verified = await withProgress('Verifying the audit log', file.verify({ checkpoints }))
    const { anchors, head } = verified
    const looked = ledger === undefined ? undefined : await lookUpAll(anchors, ledger)
    return {
      problem: verified.problem ?? looked?.problem,
      records: head.number,
      headHash: Buffer.from(head.hash).toString('hex'),
      anchors,
      confirmed: verified.problem === undefined ? [...given, ...(looked?.confirmed ?? [])] : [],
    }
  } finally {
    file.close()
  }
}

/** A missing log is valid if none was ever written, and invalid if one was noted or anchored. */
function withoutFile(dataDir: string, given: readonly LedgerAnchor[]): Result {
  if (!existsSync(dataDir)) {
    throw new CommandError('data_directory_missing', `${dataDir} does not exist`, { hint: 'give --data-dir' })
  }
  const noted = AuditFile.notedRecords(dataDir)
  const [first] = given
  const had =
    first === undefined
      ? `latchkey_audit.head records a log with ${counted(noted, 'record')}`
      : `the anchor ${first.transaction} records a log with ${counted(first.number, 'record')}`
  const message = `there is no audit log, but ${had}`
  const problem = first === undefined && noted === 0 ? undefined : ({ type: 'truncated', number: 1, message } as const)
  return { problem, records: 0, headHash: '0'.repeat(64), anchors: [], confirmed: [] }
}

async function lookUpAll(
  anchors: readonly Anchor[],
  { chain, indexer }: Ledger,
): Promise<{ problem?: Result['problem']; confirmed: LedgerAnchor[] }> {
  const confirmed: LedgerAnchor[] = []
  for (const anchor of anchors) {
    if (!(await isOf(anchor, chain))) continue
    const found = await findAnchor(chain, indexer, anchor.transaction)
    const isSame = found?.number === anchor.number && Buffer.from(found.hash).toString('hex') === anchor.hash
    if (!isSame) {
      const what = found === undefined ? 'is not in the ledger' : 'has a different hash in the ledger'
      const message = `the anchor of record ${anchor.number}, ${anchor.transaction}, ${what}`
      return { problem: { type: 'replaced', number: anchor.recordedAs, message }, confirmed }
    }
    confirmed.push(found)
  }
  return { confirmed }
}

async function verifyByDaemon(options: { readonly 'data-dir'?: string | undefined }): Promise<Result> {
  return withDaemon(options, async (kmd) => {
    const verified = await withProgress('Verifying the audit log in the daemon', kmd.audit.verify())
    const { problem, records, headHash, anchors } = verified
    return { problem: problem as Result['problem'], records, headHash, anchors, confirmed: [] }
  })
}

function report({ problem, records, headHash, anchors, confirmed }: Result, isJson: boolean): number {
  const found = confirmed.map(({ transaction, number, address, round }) => ({
    transaction,
    number,
    address,
    round: round === undefined ? null : Number(round),
  }))
  if (isJson) {
    printJson({ ok: problem === undefined, records, headHash, problem: problem ?? null, anchors, confirmed: found })
  } else if (problem === undefined) {
    printLine(`The audit log is intact: ${counted(records, 'record')}, head hash ${headHash}.`)
    for (const { number, address, transaction } of found) {
      printLine(`Record ${number} and all records before it are anchored by transaction ${transaction} of ${address}.`)
    }
    if (found.length === 0) {
      printMessage(
        'No anchor was checked. To create one, run latchkey audit anchor; to check one, give --anchor ID or --on-chain.',
      )
    }
  }
  if (problem === undefined) return exitCodes.ok
  printMessage(`latchkey audit verify: the audit log was altered: ${problem.message}.`)
  printMessage(`${counted(records, 'earlier record')} ${records === 1 ? 'is' : 'are'} intact.`)
  return exitCodes.broken
}
