/** Keeping the payment log of a buyer in a file. */

export { PaymentLogError } from './client/Payments.js'
export { type ErrorCode, errors, X402Error } from './errors.js'
export { FilePassCache } from './store/FilePassCache.js'
export { FilePayments, type FilePaymentsOptions } from './store/FilePayments.js'
