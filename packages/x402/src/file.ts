/** File storage for a buyer's payment log and passes. */

export { FilePassCache } from './client/store/FilePassCache.js'
export { FilePayments, type FilePaymentsOptions } from './client/store/FilePayments.js'
export { PaymentLogError } from './client/store/Payments.js'
export { type ErrorCode, errors, X402Error } from './errors.js'
