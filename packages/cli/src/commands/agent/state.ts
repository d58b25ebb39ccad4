/**
 * `latchkey agent pause | resume | revoke | rotate NAME`: stops an agent temporarily or permanently, or replaces its
 * token.
 */
import type { Agent } from '@latchkey/kmd-client'
import { agentJson } from '../../agents/describeAgent.js'
import { withToken } from '../../agents/showToken.js'
import { checkTokenFile, tokenFileOption } from '../../agents/TokenFile.js'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon, withPassword } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { quoted, shellWord } from '../../format.js'
import { printJson, printMessage, withProgress } from '../../messages.js'
import { passwordOptions } from '../../password.js'
import { checkCanConfirm, confirm, requireConfirmation } from '../../prompt.js'
import { agentPositionals as positionals } from './show.js'

export const agentPauseCommand = command({
  description: 'Stop an agent from signing until it is resumed. Requires no password.',
  positionals,
  options: { ...daemonOptions, ...jsonOption },
  examples: ['latchkey agent pause shopper'],
  exits: ['unreachable'],
  run: ({ options, args: [name] }) =>
    withDaemon(options, async (kmd) => {
      const agent = await kmd.agents.pause({ agent: name! })
      say(
        agent,
        options.json,
        `Paused ${quoted(agent.name)}. To let it sign again: latchkey agent resume ${shellWord(agent.name)}`,
      )
      return exitCodes.ok
    }),
})

export const agentResumeCommand = command({
  description: "Let a paused or suspended agent sign again. Requires the password of the agent's wallet.",
  positionals,
  options: { ...passwordOptions, ...daemonOptions, ...jsonOption },
  examples: ['latchkey agent resume shopper'],
  exits: ['unreachable', 'password', 'interrupted'],
  run: ({ options, args: [name] }) =>
    withDaemon(options, async (kmd) => {
      const { id, walletName } = (await kmd.agents.show({ agent: name! })).agent
      const agent = await withPassword(options, walletName, (password) => kmd.agents.resume({ agent: id, password }))
      say(agent, options.json, `${quoted(agent.name)} can sign again, within its limits.`)
      return exitCodes.ok
    }),
})

export const agentRevokeCommand = command({
  description:
    "Revoke an agent permanently: its token stops working, and the daemon deletes the agent's copies of the keys. Requires no password.",
  positionals,
  options: {
    yes: { type: 'boolean', short: 'y', description: 'revoke without confirmation' },
    ...daemonOptions,
    ...jsonOption,
  },
  examples: ['latchkey agent revoke shopper'],
  exits: ['unreachable', 'declined', 'interrupted'],
  run: ({ options, args: [name] }) =>
    withDaemon(options, async (kmd) => {
      checkCanConfirm(options.yes)
      const found = (await kmd.agents.show({ agent: name! })).agent
      await requireConfirmation(options.yes, () => confirm(`Permanently revoke the agent ${quoted(found.name)}?`))
      const agent = await kmd.agents.revoke({ agent: found.id })
      say(agent, options.json, `Revoked ${quoted(agent.name)}.`)
      return exitCodes.ok
    }),
})

export const agentRotateCommand = command({
  description:
    "Replace an agent's token. The old token stops working at once; rules and recorded spending stay. Requires the password of the agent's wallet.",
  positionals,
  options: { ...tokenFileOption, ...passwordOptions, ...daemonOptions, ...jsonOption },
  examples: ['latchkey agent rotate shopper --token-file shopper-2.token'],
  exits: ['unreachable', 'password', 'interrupted'],
  run: ({ options, args: [name] }) =>
    withDaemon(options, async (kmd) => {
      const tokenFile = checkTokenFile(options['token-file'])
      const { id, name: shown, walletName } = (await kmd.agents.show({ agent: name! })).agent
      await withPassword(options, walletName, (password) => {
        const rotate = () => withProgress(`Rotating ${quoted(shown)}`, kmd.agents.rotate({ agent: id, password }))
        return withToken(kmd, rotate, { tokenFile, isJson: options.json, onLost: 'keep' })
      })
      return exitCodes.ok
    }),
})

function say(agent: Agent, isJson: boolean | undefined, text: string): void {
  if (isJson) printJson({ agent: agentJson(agent) })
  else printMessage(text)
}
