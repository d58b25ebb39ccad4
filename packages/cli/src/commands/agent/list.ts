/** `latchkey agent list`: lists the agents of the daemon. */
import type { AgentState } from '@latchkey/kmd-client'
import { agentJson, stateText } from '../../agents/describeAgent.js'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { columns } from '../../format.js'
import { printJson, printMessage, printResult } from '../../messages.js'

const live: readonly AgentState[] = ['active', 'paused', 'suspended']

export const agentListCommand = command({
  description: 'List the agents, one line each: name, state, wallet and id.',
  options: {
    all: { type: 'boolean', description: 'also list revoked and expired agents' },
    ...daemonOptions,
    ...jsonOption,
  },
  examples: ['latchkey agent list', "latchkey agent list --json | jq -r '.agents[].name'"],
  exits: ['unreachable'],
  run: ({ options }) =>
    withDaemon(options, async (kmd) => {
      const every = await kmd.agents.list()
      const agents = every.filter(({ state }) => options.all || live.includes(state))
      if (options.json) printJson({ agents: agents.map((agent) => agentJson(agent)) })
      else if (agents.length === 0) {
        const ended = every.length === 0 ? '' : ' --all also lists revoked and expired agents.'
        printMessage(`No agents. To create one: latchkey agent new NAME.${ended}`)
      } else printResult(columns(agents.map((agent) => [agent.name, stateText(agent), agent.walletName, agent.id])))
      return exitCodes.ok
    }),
})
