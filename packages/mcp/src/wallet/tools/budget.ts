/** `wallet_budget`: shows the remaining limits and the balances. */
import type { McpServer } from '@modelcontextprotocol/server'
import type { AgentWallet } from '../AgentWallet.js'
import { errorResult, result } from '../toolResult.js'
import { left, list, nullable, object, schema, text } from './schemas.js'

const balance = object({
  asset_id: text('asset id; 0 is ALGO'),
  amount: text('base units that can be spent'),
  text: text('the amount with its unit'),
})

export function registerBudget(server: McpServer, wallet: AgentWallet): void {
  const config = {
    title: 'Budget and balances',
    description:
      "Shows how much this agent may still spend under its owner's limits, and the balances of its account. Both limit every payment. Pays nothing.",
    inputSchema: schema<Record<string, never>>({}),
    outputSchema: schema({
      agent: text('name of this agent'),
      expires_at: nullable(text('when the agent expires; null for never')),
      address: text('the account that pays'),
      network: text('CAIP-2 id of the network'),
      left,
      balances: list(balance, 'the balances that the account can spend'),
      asks_owner: { type: 'boolean', description: "whether some payments need the owner's approval" },
    }),
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  } as const
  server.registerTool('wallet_budget', config, async (_, { mcpReq }) => {
    try {
      const { agent, address, left: limits, balances } = await wallet.budget(mcpReq.signal)
      const { above, overLimit, unknownPayee } = agent.rules.ask
      const has = balances.map(({ text }) => text).join(', ')
      const may = limits.map(({ limit, left }) => `${left} of ${limit}`).join(', ')
      return result(
        {
          agent: agent.name,
          address,
          network: wallet.chain.caip2,
          left: limits,
          balances,
          expires_at: agent.expiresAtMs === undefined ? null : new Date(agent.expiresAtMs).toISOString(),
          asks_owner: above.length > 0 || overLimit || unknownPayee,
        },
        `The agent ${JSON.stringify(agent.name)} may still spend: ${may}. The account ${address} has ${has}.`,
      )
    } catch (error) {
      return errorResult(error)
    }
  })
}
