/** `latchkey approvals approve ID` and `latchkey approvals deny ID`: the owner's decision. */
import type { Approval, Kmd } from '@latchkey/kmd-client'
import { approvalJson, describeApproval } from '../../approvals/describeApproval.js'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted } from '../../format.js'
import { printJson, printMessage, printResult } from '../../messages.js'

const positionals = [{ name: 'ID', description: 'id of the approval, from latchkey approvals list' }] as const
const options = { ...daemonOptions, ...jsonOption } as const

export const approvalsApproveCommand = command({
  description:
    'Approve a payment: the agent may sign exactly this transaction while it is valid. Rules that an approval cannot lift still apply.',
  positionals,
  options,
  examples: ['latchkey approvals approve q3vdk7mz2a5ncxwe'],
  exits: ['unreachable'],
  run: ({ options: given, args: [id] }) =>
    withDaemon(given, async (kmd) => {
      report(await kmd.approvals.approve({ id: id! }), given.json, 'Approved. The agent can sign this transaction now.')
      return exitCodes.ok
    }),
})

export const approvalsDenyCommand = command({
  description:
    'Deny a payment: the agent cannot sign this transaction. For ten minutes, payments to the same payee for the same URL that need an approval are refused too.',
  positionals,
  options: {
    pause: { type: 'boolean', description: 'also pause the agent, until latchkey agent resume' },
    ...options,
  },
  examples: ['latchkey approvals deny q3vdk7mz2a5ncxwe', 'latchkey approvals deny q3vdk7mz2a5ncxwe --pause'],
  exits: ['unreachable'],
  run: ({ options: given, args: [id] }) =>
    withDaemon(given, async (kmd: Kmd) => {
      const approval = await kmd.approvals.deny({ id: id! })
      if (given.pause) await kmd.agents.pause({ agent: approval.agentId })
      report(approval, given.json, given.pause ? pausedText(approval) : deniedText)
      return exitCodes.ok
    }),
})

/** The consequence of a denial. */
export const deniedText =
  'Denied. The agent cannot sign this transaction, and for ten minutes no other to the same payee for the same URL.'

/** The consequence of a denial that also paused the agent. */
export function pausedText({ agentName }: Approval): string {
  return `Denied, and the agent is paused: it signs nothing until you run latchkey agent resume ${quoted(agentName)}.`
}

function report(approval: Approval, isJson: boolean | undefined, text: string): void {
  if (isJson) printJson({ approval: approvalJson(approval) })
  else {
    printResult(describeApproval(approval))
    printMessage(text)
  }
}
