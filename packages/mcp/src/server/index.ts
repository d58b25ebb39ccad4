// Sells the tools of a Model Context Protocol server.
export { LatchkeyError } from '@latchkey/algorand'
export { FacilitatorError, GateError, OptionsError, RouteError } from '@latchkey/x402/server'
export { errors, McpError, type McpErrorCode } from '../errors.js'
export { paymentKey, paymentResponseKey, toolUrl } from '../wire/ToolMessage.js'
export { paymentOf, type ToolConfig, ToolGate } from './ToolGate.js'
export type {
  PaidTool,
  ToolAccept,
  ToolCall,
  ToolDynamic,
  ToolGateOptions,
  ToolUpToPrice,
} from './ToolGateOptions.js'
