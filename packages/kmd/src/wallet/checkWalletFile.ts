/** Checks a wallet file for programs other than the daemon. */
import { lstatSync } from 'node:fs'
import * as WalletFormat from './WalletFormat.js'

const tries = 5
const pauseMs = 50
const recentMs = 1_000

/**
 * Returns why the daemon rejects a file in the wallets directory, or which parts are damaged. The text completes a
 * sentence that starts with the file name. Returns undefined for an intact wallet and for a missing file. Changes and
 * locks nothing; a file that is being written is read again.
 */
export async function checkWalletFile(path: string): Promise<string | undefined> {
  for (let left = tries; ; left--) {
    const problem = problemOf(path)
    if (problem === undefined || left === 1 || !isBeingWritten(path)) return problem
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

function problemOf(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  try {
    const file = WalletFormat.openFile(path)
    try {
      return WalletFormat.inspect(file, { keys: true }).damage
    } finally {
      file.close()
    }
  } catch (error) {
    return WalletFormat.problemOf(error)
  }
}

/** A journal with content means that a change is in progress or was interrupted. */
function isBeingWritten(path: string): boolean {
  const changedMs = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const journal = lstatSync(`${path}-journal`, { throwIfNoEntry: false })
  return Date.now() - changedMs < recentMs || (journal?.size ?? 0) > 0
}
