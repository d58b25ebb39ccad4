/** Work for the end of a test process, which may run several files. */
import { after } from 'node:test'

/**
 * Runs `work` after the last test of this process. A module that several files of a batch import is loaded with the
 * first of them, so its hooks would run at the end of that file; see scripts/testing/batches.mjs.
 */
export function atEndOfProcess(work: () => unknown): void {
  const { latchkeyBatchEnd } = globalThis as { latchkeyBatchEnd?: (() => unknown)[] }
  if (latchkeyBatchEnd === undefined) after(async () => void (await work()))
  else latchkeyBatchEnd.push(work)
}
