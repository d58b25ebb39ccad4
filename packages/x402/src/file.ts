/** File storage for a buyer's payment log and passes. */

export { PaymentLogError } from './client/Payments.js'
export { type ErrorCode, errors, X402Error } from './errors.js'
export { FilePassCache } from './store/FilePassCache.js'
export { FilePayments, type FilePaymentsOptions } from './store/FilePayments.js'
