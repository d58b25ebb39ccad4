/** The wallet of an agent as an MCP server: tools that show the budget, ask for prices, and pay within limits. */
export { AgentWallet, type AgentWalletOptions, type Budget, type PriceOf } from './AgentWallet.js'
export type { Destinations } from './GuardedFetch.js'
export { newWalletServer } from './newWalletServer.js'
export { ToolError, toolErrors } from './ToolError.js'
export { errorKey } from './toolResult.js'
export { paymentsUri } from './tools/payments.js'
