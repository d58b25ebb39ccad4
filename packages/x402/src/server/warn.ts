/** The default of `onError`: a warning of the process, or of the console where there is no process. */
export function warn(error: unknown): void {
  const warning = error instanceof Error ? error : new Error(String(error))
  if (typeof globalThis.process?.emitWarning === 'function') globalThis.process.emitWarning(warning)
  else console.warn(warning)
}
