/** Payments of a buyer in a file: `@latchkey/x402/file`. */
export { FilePayments, FilePaymentsError, type FilePaymentsOptions } from './store/FilePayments.js'
