/**
 * The selected account, or the first one if none is selected. Undefined if the selected account is not available, such
 * as after its wallet was locked: replacing it with another account would spend other money.
 */
export function chosenAccount<T extends { address: string }>(
  accounts: readonly T[],
  address: string | undefined,
): T | undefined {
  if (address === undefined || address === '') return accounts[0]
  return accounts.find((one) => one.address === address)
}
