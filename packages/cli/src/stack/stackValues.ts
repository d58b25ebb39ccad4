/** Values common to all development stacks, and the commands' knowledge of the stack in use. */

/** The token of LocalNet, which its tools send. */
export const token = 'a'.repeat(64)
/** Tools for LocalNet look for this wallet, and fund accounts from a key in it. */
export const defaultWallet = 'unencrypted-default-wallet'
/**
 * A separate wallet, because every key in the default wallet is rich; listed after it, for tools that take the first.
 */
export const buyerWallet = 'x402-buyer'
export const dollarAssetId = 31566704n
export const dollarDecimals = 6

/** The label of a devnet's account: `account-1` for `account 1`, one word that needs no quotes in a shell. */
export function accountLabel(name: string): string {
  return name.replaceAll(' ', '-')
}

let isUsed = false

/** Called when the commands of this process use a running stack. */
export function noteUse(): void {
  isUsed = true
}

/** Whether the commands of this process use a running stack. */
export function isStackUsed(): boolean {
  return isUsed
}

/** Whether a stack created the wallet without a password, and the stack is in use. */
export function hasBlankPassword(wallet: string): boolean {
  return isUsed && (wallet === defaultWallet || wallet === buyerWallet)
}
