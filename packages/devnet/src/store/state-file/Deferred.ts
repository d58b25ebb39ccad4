/** A promise with the functions that settle it. */
export type Deferred = {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export function deferred(): Deferred {
  let resolve!: () => void
  let reject!: (error: Error) => void
  const promise = new Promise<void>((whenResolved, whenRejected) => {
    resolve = whenResolved
    reject = whenRejected
  })
  // An unhandled rejection must not end the process.
  promise.catch(() => {})
  return { promise, resolve, reject }
}
