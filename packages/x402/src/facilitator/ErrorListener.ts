/** The request and the payment that an error is about, as far as they are known. */
export type ErrorSubject = { readonly requestId?: string | undefined; readonly transactionId?: string | undefined }

/** Gets errors, for a log. */
export type ErrorListener = (error: unknown, subject?: ErrorSubject) => void
