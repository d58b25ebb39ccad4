/** `latchkey approvals watch`: shows payments that wait for the owner as they arrive, and asks about each. */
import { type Approval, type Kmd, KmdClientError } from '@latchkey/kmd-client'
import { approvalJson, describeApproval } from '../../approvals/describeApproval.js'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { printJson, printMessage, printResult } from '../../messages.js'
import { askAfresh, hasTerminal } from '../../prompt.js'
import { deniedText, pausedText } from './decide.js'

export const approvalsWatchCommand = command({
  description:
    'Wait for payments that need your approval and show each of them. On a terminal, the command asks you to decide. Stop with Ctrl-C.',
  options: {
    'no-input': { type: 'boolean', description: 'only show the payments' },
    ...daemonOptions,
    ...jsonOption,
  },
  notes: 'With --json, the command prints one line whenever an approval is requested, decided, used or expires.',
  examples: ['latchkey approvals watch', 'latchkey approvals watch --json'],
  exits: ['unreachable', 'interrupted'],
  run: ({ options }) =>
    withDaemon(options, async (kmd) => {
      const canAsk = !options.json && !options['no-input'] && hasTerminal()
      if (!options.json) printMessage('Waiting for payments that need your approval. Stop with Ctrl-C.')
      let seen: Map<string, string> | undefined
      let revision = ''
      for (;;) {
        const list = await kmd.approvals.watch({ revision, all: options.json === true })
        revision = list.revision
        // Approvals decided before the start are not reported.
        const isNews = ({ id, state }: Approval): boolean => (seen ? seen.get(id) !== state : state === 'open')
        const news = list.approvals.toReversed().filter(isNews)
        seen = new Map(list.approvals.map(({ id, state }) => [id, state]))
        for (const approval of news) {
          if (options.json) printJson(approvalJson(approval))
          else await show(kmd, approval, canAsk)
        }
      }
    }),
})

const isOver: ReadonlySet<string> = new Set(['approval_decided', 'approval_not_found'])

async function show(kmd: Kmd, approval: Approval, canAsk: boolean): Promise<void> {
  printResult(describeApproval(approval))
  if (!canAsk) {
    printMessage(`To decide: latchkey approvals approve ${approval.id}, or latchkey approvals deny ${approval.id}`)
    return
  }
  const answer = (await askAfresh('Approve this payment? [y]es, [n]o, deny and [p]ause the agent, [l]ater: '))
    .trim()
    .toLowerCase()
  try {
    if (answer === 'y' || answer === 'yes') {
      await kmd.approvals.approve({ id: approval.id })
      printMessage('Approved. The agent can sign this transaction now.')
    } else if (answer === 'n' || answer === 'no') {
      await kmd.approvals.deny({ id: approval.id })
      printMessage(deniedText)
    } else if (answer === 'p' || answer === 'pause') {
      await kmd.approvals.deny({ id: approval.id })
      await kmd.agents.pause({ agent: approval.agentId })
      printMessage(pausedText(approval))
    } else printMessage(`Left open. To decide later: latchkey approvals approve ${approval.id}, or deny`)
  } catch (error) {
    // The approval expired or was decided elsewhere while the question was open.
    if (!(error instanceof KmdClientError) || !isOver.has(error.code)) throw error
    printMessage(`Nothing was done: ${error.message}`)
  }
}
