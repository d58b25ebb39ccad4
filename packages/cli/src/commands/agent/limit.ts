/** `latchkey agent limit NAME`: changes the rules of an agent. */
import { changeOptions, changeRules } from '../../agents/changeRules.js'
import { agentJson, describeAgent } from '../../agents/describeAgent.js'
import { expiresOption, readExpiry } from '../../agents/expiry.js'
import { networkOfAgent } from '../../agents/ruleNetwork.js'
import { ruleOptions } from '../../agents/rulesFrom.js'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon, withPassword } from '../../daemon.js'
import { UsageError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { printJson, printResult } from '../../messages.js'
import { passwordOptions } from '../../password.js'
import { agentPositionals as positionals } from './show.js'

const changes = { ...ruleOptions, ...changeOptions, ...expiresOption } as const

export const agentLimitCommand = command({
  description: `Change an agent's rules. A new limit replaces the limit for the same period, asset and payee; other limits stay, and earlier \
spending still counts. Requires the password of the agent's wallet.`,
  positionals,
  options: {
    ...changes,
    network: {
      type: 'string',
      placeholder: 'NETWORK',
      description: 'network of the rules, if the agent signs for several',
    },
    ...passwordOptions,
    ...daemonOptions,
    ...jsonOption,
  },
  notes:
    '--pay-to, --deny, --app and --opt-in add to the existing lists. --ask-above replaces all existing --ask-above amounts.',
  examples: [
    "latchkey agent limit shopper --limit '$10/day'",
    'latchkey agent limit shopper --pay-to ADDRESS --expires 30d',
    "latchkey agent limit shopper --no-limit '2 ALGO/total'",
  ],
  exits: ['unreachable', 'password', 'interrupted'],
  run: async ({ options: given, args: [name] }) => {
    if (!Object.keys(changes).some((option) => given[option as keyof typeof changes] !== undefined)) {
      throw new UsageError('no change given', { hint: "give an option such as --limit '$10/day'" })
    }
    const expiry = given.expires === undefined ? undefined : { atMs: readExpiry(given.expires) }
    return withDaemon(given, async (kmd) => {
      const { agent } = await kmd.agents.show({ agent: name! })
      const rules = changeRules(agent.rules, given, networkOfAgent(agent, given.network))
      const expiresAtMs = expiry === undefined ? agent.expiresAtMs : expiry.atMs
      const changed = await withPassword(given, agent.walletName, (password) =>
        kmd.agents.setRules({ agent: agent.id, password, rules, expiresAtMs }),
      )
      const { budget } = await kmd.agents.show({ agent: agent.id })
      if (given.json) printJson({ agent: agentJson(changed, budget) })
      else printResult(describeAgent(changed, budget))
      return exitCodes.ok
    })
  },
})
