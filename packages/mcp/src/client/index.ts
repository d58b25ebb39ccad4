// Pays for the tools of a Model Context Protocol server.
export { LatchkeyError } from '@latchkey/algorand'
export { PaymentLogError, PaymentRefusedError, SignerError } from '@latchkey/x402/client'
export { errors, McpError, type McpErrorCode } from '../errors.js'
export { paymentKey, paymentResponseKey, toolUrl } from '../wire/ToolMessage.js'
export { LostToolResultError } from './LostToolResultError.js'
export { type PayingCallToolOptions, payingCallTool, paymentOf, type ToolPayment } from './payingCallTool.js'
