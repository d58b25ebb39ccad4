/** What every development stack has in common, and what the commands know of the one that they use. */

/** The token of LocalNet, which its tools send. */
export const token = 'a'.repeat(64)
/** Tools that know LocalNet look for it, and fund accounts from a key in it. */
export const defaultWallet = 'unencrypted-default-wallet'
/** A wallet of its own, because every key in the default wallet is a rich one; listed after it, for tools that take the first. */
export const buyerWallet = 'x402-buyer'
export const dollarAssetId = 31566704n
export const dollarDecimals = 6

let isUsed = false

/** Called when the commands of this process use a stack that was found. */
export function noteUse(): void {
  isUsed = true
}

/** Whether the commands of this process use a stack that was found. */
export function isStackUsed(): boolean {
  return isUsed
}

/** Whether the wallet is one that a stack creates, without a password, and the stack is used. */
export function hasBlankPassword(wallet: string): boolean {
  return isUsed && (wallet === defaultWallet || wallet === buyerWallet)
}
