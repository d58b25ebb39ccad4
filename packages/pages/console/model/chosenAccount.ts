/**
 * The account that was chosen; the first one before a choice. Undefined if it is not available, as when its wallet was locked:
 * another account in its place would be other money.
 */
export function chosenAccount<T extends { address: string }>(
  accounts: readonly T[],
  address: string | undefined,
): T | undefined {
  if (address === undefined || address === '') return accounts[0]
  return accounts.find((one) => one.address === address)
}
