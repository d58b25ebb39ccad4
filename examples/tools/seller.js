/** Sells a forecast for one cent over stdio: `AVM_ADDRESS=... FACILITATOR_URL=... node examples/tools/seller.js` */
import { ToolGate } from '@latchkey/mcp/server'
import { Chain, sellerSettings } from '@latchkey/x402/server'
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

const { AVM_NETWORK: network = 'testnet', ALGOD_URL: nodes, USDC_ASSET_ID: dollar } = process.env
const { payTo, facilitatorUrl } = sellerSettings()

const gate = await ToolGate.open({
  tools: { forecast: { accepts: { price: '$0.01', payTo }, description: 'The weather of tomorrow' } },
  chains: await Chain.open({ network, nodes, dollarAssetId: dollar === undefined ? undefined : BigInt(dollar) }),
  facilitators: facilitatorUrl,
  // stdout carries the connection.
  onWarning: (text) => console.error(`warning: ${text}`),
})

const server = new McpServer({ name: 'weather', version: '1.0.0' })
const description = 'The weather of tomorrow, for one cent'
const inputSchema = fromJsonSchema({
  type: 'object',
  properties: { city: { type: 'string', maxLength: 100 } },
  required: ['city'],
})
gate.registerTool(server, 'forecast', { description, inputSchema }, ({ city }) => ({
  content: [{ type: 'text', text: `Tomorrow it will be sunny in ${city}.` }],
}))
await server.connect(new StdioServerTransport())
