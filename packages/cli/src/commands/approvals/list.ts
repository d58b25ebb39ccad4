/** `latchkey approvals list`: lists the requests of agents to the owner. */
import { approvalJson, describeApproval } from '../../approvals/describeApproval.js'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { printJson, printMessage, printResult } from '../../messages.js'

export const approvalsListCommand = command({
  description: 'List agent payments that wait for your approval, newest first.',
  options: {
    all: { type: 'boolean', description: 'also list the latest 200 decided and expired approvals' },
    ...daemonOptions,
    ...jsonOption,
  },
  examples: ['latchkey approvals list', "latchkey approvals list --json | jq -r '.approvals[].id'"],
  exits: ['unreachable'],
  run: ({ options }) =>
    withDaemon(options, async (kmd) => {
      const { approvals, leftOut } = await kmd.approvals.list({ all: options.all })
      if (options.json) printJson({ approvals: approvals.map(approvalJson), leftOut })
      else if (approvals.length === 0) printMessage('No payments are waiting for approval.')
      else printResult(approvals.map(describeApproval).join('\n'))
      if (leftOut > 0)
        printMessage(`${leftOut} older payments are not listed. To find them, run latchkey audit search.`)
      return exitCodes.ok
    }),
})
