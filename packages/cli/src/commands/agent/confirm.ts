/** `latchkey agent confirm`: lets agents that the daemon suspended sign again. */
import type { Agent, Kmd } from '@latchkey/kmd-client'
import { agentJson, limitLine } from '../../agents/describeAgent.js'
import { command, jsonOption } from '../../Command.js'
import { walletOptions, withDaemon, withPassword } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { printable, quoted } from '../../format.js'
import { printJson, printMessage, withProgress } from '../../messages.js'
import { checkCanConfirm, confirm, requireConfirmation } from '../../prompt.js'

export const agentConfirmCommand = command({
  description: `Resume suspended agents. The daemon suspends all agents if its state database was rolled back or damaged, because \
the recorded spending may then lack payments. Requires the password of each wallet.`,
  options: {
    ...walletOptions,
    yes: { type: 'boolean', short: 'y', description: 'resume without confirmation' },
    ...jsonOption,
  },
  notes: `The recorded spending is shown before the confirmation. To end an agent instead, run latchkey agent revoke, which requires no password; latchkey agent resume \
resumes a single agent. Paused agents stay paused.`,
  examples: ['latchkey agent confirm', 'latchkey agent confirm --wallet savings'],
  exits: ['unreachable', 'password', 'declined', 'interrupted'],
  run: ({ options }) =>
    withDaemon(options, async (kmd) => {
      checkCanConfirm(options.yes)
      const wallets = await suspendedWallets(kmd, options.wallet)
      const confirmed: Agent[] = []
      for (const { id, name, agents } of wallets) {
        for (const agent of agents) for (const line of await describe(kmd, agent)) printMessage(line)
        const question = `Let ${agents.length === 1 ? 'this agent' : `these ${agents.length} agents`} of ${quoted(name)} sign again?`
        await requireConfirmation(options.yes, () => confirm(question))
        const work = withPassword(options, name, (password) =>
          withProgress(`Confirming ${quoted(name)}`, kmd.agents.confirm({ walletId: id, password })),
        )
        confirmed.push(...(await work))
      }
      if (options.json) printJson({ agents: confirmed.map((agent) => agentJson(agent)) })
      else if (confirmed.length === 0) printMessage('No agent is suspended.')
      else printMessage(`Confirmed: ${confirmed.map(({ name }) => quoted(name)).join(', ')}.`)
      return exitCodes.ok
    }),
})

type SuspendedWallet = { readonly id: string; readonly name: string; readonly agents: readonly Agent[] }

async function suspendedWallets(kmd: Kmd, wanted: string | undefined): Promise<SuspendedWallet[]> {
  const agents = (await kmd.agents.list()).filter(({ state }) => state === 'suspended')
  const wallets = new Map<string, Agent[]>()
  for (const agent of agents) wallets.set(agent.walletId, [...(wallets.get(agent.walletId) ?? []), agent])
  const all = [...wallets].map(([id, listed]) => ({ id, name: listed[0]!.walletName, agents: listed }))
  if (wanted === undefined) return all
  const named = all.filter(({ id, name }) => id === wanted || name === wanted)
  if (named.length > 0 || agents.length === 0) return named
  throw new CommandError('wallet_not_found', `the wallet ${quoted(wanted)} has no suspended agent`, {
    hint: 'list the agents and their wallets with latchkey agent list',
  })
}

/** Describes the agent, why it is suspended, and its recorded spending. */
async function describe(kmd: Kmd, { id, name, suspendedReason = '' }: Agent): Promise<string[]> {
  const { agent, budget } = await kmd.agents.show({ agent: id })
  const why = `the audit log was altered: ${printable(suspendedReason)}`
  return [`${quoted(name)} is suspended: ${why}.`, ...budget.map((use) => `  ${limitLine(use, agent.rules)}`)]
}
