/**
 * A seller of a tool over stdio that kills itself with a signal at a given point. Its settings are in the environment.
 */
import { appendFileSync } from 'node:fs'
import { Chain } from '@latchkey/x402/client'
import { httpFacilitator } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { dollar, price, text } from './goods.test.helper.js'
import { ToolGate } from './server/index.js'

const { NODE_URL, FACILITATOR_URL, PAY_TO, CLAIMS, RUNS, CRASH } = process.env as { [name: string]: string }

const crashIn = (place: string): void => {
  if (CRASH === place) process.kill(process.pid, 'SIGKILL')
}
const chain = await Chain.open({ network: 'local', nodes: NODE_URL!, dollarAssetId: dollar })
const facilitator = httpFacilitator({ url: FACILITATOR_URL! })
const claims = new SqliteClaims(CLAIMS!)
// Without renewals, a lease lasts as long as a request can take. On a slow machine, a shorter lease of a killed process
// would end during the test.
if (CRASH === 'handler') Object.assign(claims, { renewals: undefined })
const gate = await ToolGate.open({
  tools: { forecast: { accepts: { price, payTo: PAY_TO! } } },
  chains: chain,
  claims,
  facilitators: {
    ...facilitator,
    settle: async (...request) => {
      const receipt = await facilitator.settle(...request)
      crashIn('settled')
      return receipt
    },
  },
})
const server = new McpServer({ name: 'shop', version: '1.0.0' })
gate.registerTool(server, 'forecast', {}, () => {
  appendFileSync(RUNS!, 'run\n')
  crashIn('handler')
  return text('sunny')
})
await server.connect(new StdioServerTransport())
