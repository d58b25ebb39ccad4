/** `latchkey agent show NAME`: shows the rules of an agent and its remaining budget. */
import { agentJson, describeAgent } from '../../agents/describeAgent.js'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { printJson, printResult } from '../../messages.js'

export const agentPositionals = [{ name: 'NAME', description: 'name or id of the agent', completes: 'agent' }] as const

export const agentShowCommand = command({
  description: "Show an agent's rules and remaining budget.",
  positionals: agentPositionals,
  options: { ...daemonOptions, ...jsonOption },
  notes: "To see an agent's activity, run latchkey audit search --actor NAME.",
  examples: ['latchkey agent show shopper', "latchkey agent show shopper --json | jq '.agent.budget[].left'"],
  exits: ['unreachable'],
  run: ({ options, args: [name] }) =>
    withDaemon(options, async (kmd) => {
      const { agent, budget } = await kmd.agents.show({ agent: name! })
      if (options.json) printJson({ agent: agentJson(agent, budget) })
      else printResult(describeAgent(agent, budget))
      return exitCodes.ok
    }),
})
