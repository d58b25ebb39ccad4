/** `latchkey agent test NAME FILE`: shows which rule would decide about a transaction. */
import { Address, Readable, Transaction } from '@latchkey/algorand'
import { formatUnits } from '@latchkey/kmd-api/rules'
import type { AgentDecision, AgentRefusal } from '@latchkey/kmd-client'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { printable, timeText } from '../../format.js'
import { printJson, printLine } from '../../messages.js'
import { readAll, readTransactions } from '../sign/input.js'
import { agentPositionals } from './show.js'

export const agentTestCommand = command({
  description:
    'Show whether an agent could sign the transactions in a file now, and which rule decides. Nothing is signed, and no spending is counted.',
  positionals: [
    ...agentPositionals,
    {
      name: 'FILE',
      description: 'file with a transaction or a group (stdin)',
      isOptional: true,
      completes: 'file',
    },
  ],
  options: { ...daemonOptions, ...jsonOption },
  notes: `Transactions of a group that another account sends are marked as such. The others are tested independently: spending by the \
first is not deducted for the second. The exit code is 0 only if the agent could sign all of them without asking.`,
  examples: ['latchkey agent test shopper payment.txn', 'latchkey agent test shopper group.txns --json'],
  exits: ['unreachable'],
  run: async ({ options, args: [name, file] }) => {
    const members = readTransactions(await readAll(file), file)
    return withDaemon(options, async (kmd) => {
      const { agent } = await kmd.agents.show({ agent: name! })
      const results: Result[] = []
      for (const member of members) {
        const isOwn = agent.addresses.includes(Address.encode(member.transaction.snd))
        // A single transaction is meant for the agent.
        const isAsked = isOwn || members.length === 1
        const decided = isAsked ? await kmd.agents.test({ agent: agent.id, transaction: member.bytes }) : otherSigner
        results.push({ id: Transaction.id(member.bytes), ...decided })
      }
      if (options.json) printJson({ decisions: results.map(resultJson) })
      else for (const result of results) printLine(resultLine(result))
      return isSignable(results) ? exitCodes.ok : exitCodes.failed
    })
  },
})

type Decided = Omit<AgentDecision, 'decision'> & { readonly decision: AgentDecision['decision'] | 'other_signer' }
type Result = Decided & { readonly id: string }

const otherSigner: Decided = { decision: 'other_signer', rule: '', refusal: undefined }

/** The agent cannot sign a group that contains none of its transactions. */
function isSignable(results: readonly Result[]): boolean {
  const own = results.filter(({ decision }) => decision !== 'other_signer')
  return own.length > 0 && own.every(({ decision }) => decision === 'allowed')
}

function resultLine({ id, decision, rule, refusal }: Result): string {
  if (decision === 'other_signer') return `${id}  is sent by another account, which signs it`
  const by = rule === '' ? '' : ` by the rule ${printable(rule)}`
  return `${id}  ${meanings[decision]}${by}${refusal === undefined ? '' : amounts(refusal)}`
}

const meanings = { allowed: 'allowed', ask: 'would ask you', refused: 'refused' } as const

function amounts({ unit, asked, left, resetsAtMs }: AgentRefusal): string {
  if (asked === undefined || left === undefined) return ''
  const when = resetsAtMs === undefined ? '' : `, enough at ${Readable.time(resetsAtMs)}`
  return `: asked ${printable(formatUnits(asked, unit))}, left ${printable(formatUnits(left, unit))}${when}`
}

function resultJson({ refusal, ...result }: Result): object {
  if (refusal === undefined) return { ...result, refusal: null }
  const { code, rule, unit, asked, left, resetsAtMs } = refusal
  return {
    ...result,
    refusal: {
      code,
      rule,
      unit: unit ?? null,
      asked: asked?.toString() ?? null,
      left: left?.toString() ?? null,
      resetsAt: resetsAtMs === undefined ? null : timeText(resetsAtMs),
    },
  }
}
