/** A promise, and what settles it. */
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
  // Whoever waits is told; that nobody does is no reason to end the program.
  promise.catch(() => {})
  return { promise, resolve, reject }
}
