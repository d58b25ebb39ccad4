/** The request and the payment that an error is about, if they are known. */
export type ErrorSubject = { readonly requestId?: string | undefined; readonly transactionId?: string | undefined }

/** Receives errors, for a log. */
export type ErrorListener = (error: unknown, subject?: ErrorSubject) => void
