/** The options that select the wallet of an MCP server and its allowed connections. */
import { ownAgentOptions } from '../agentToken.js'
import type { Option, Values } from '../Command.js'
import { chainOptions } from '../chain.js'
import { walletOptions } from '../daemon.js'

export const walletServerOptions = {
  ...ownAgentOptions,
  'data-dir': walletOptions['data-dir'],
  key: { type: 'string', placeholder: 'ADDRESS', description: 'the key that pays, if the agent has several' },
  ...chainOptions,
  max: {
    type: 'string',
    placeholder: 'PRICE',
    description: 'the most for one payment in dollars, whatever a model asks for ($1)',
  },
  'allow-host': {
    type: 'string',
    multiple: true,
    placeholder: 'HOST',
    description: 'connect to this host (or HOST:PORT) whatever its address, also without TLS; repeat it for more',
  },
  'allow-private': {
    type: 'boolean',
    description: 'connect to addresses of this machine and of private networks, also without TLS',
  },
  log: {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'file that records every payment (~/.latchkey/mcp/AGENT.jsonl)',
  },
} as const satisfies { [name: string]: Option }

export type WalletServerValues = Values<typeof walletServerOptions>
