/** The options that select the wallet of an MCP server and its allowed connections. */
import { ownAgentOptions } from '../agentToken.js'
import type { Option, Values } from '../Command.js'
import { chainOptions } from '../chain.js'
import { walletOptions } from '../daemon.js'

export const walletServerOptions = {
  ...ownAgentOptions,
  'data-dir': walletOptions['data-dir'],
  key: { type: 'string', placeholder: 'ADDRESS', description: 'address of the paying key, if the agent has several' },
  ...chainOptions,
  max: {
    type: 'string',
    placeholder: 'PRICE',
    description: "maximum for one payment in dollars, regardless of the model's request ($1)",
  },
  facilitator: {
    type: 'string',
    multiple: true,
    placeholder: 'URL',
    description: 'facilitator whose catalogue the tool find_paid_api searches; repeatable',
  },
  'allow-host': {
    type: 'string',
    multiple: true,
    placeholder: 'HOST',
    description: 'allow this host (or HOST:PORT) at any address, even without TLS; repeatable',
  },
  'allow-private': {
    type: 'boolean',
    description: 'allow addresses of this machine and private networks, even without TLS',
  },
  log: {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'log of payments (~/.latchkey/mcp/AGENT.jsonl)',
  },
} as const satisfies { [name: string]: Option }

export type WalletServerValues = Values<typeof walletServerOptions>
