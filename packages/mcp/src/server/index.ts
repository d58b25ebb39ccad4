/** Selling tools of a Model Context Protocol server. */
export { errors, McpError, type McpErrorCode } from '../errors.js'
export { paymentKey, paymentResponseKey } from '../wire/metaKeys.js'
