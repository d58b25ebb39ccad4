/** How long an approval can be decided and used: as long as its transaction can enter the ledger. */

/** An Algorand network takes about this long for a round, at least since 2024. */
const roundMs = 2_800
const longestMs = 24 * 3_600_000

/**
 * The upper bound by time: a transaction is valid for the rounds from first to last, and it is signed at the first round or later.
 * The ledger itself refuses it after the last round, so that an approval that outlives the transaction spends nothing.
 */
export function expiryOf(
  { fv = 0n, lv = 0n }: { fv?: bigint | undefined; lv?: bigint | undefined },
  createdAtMs: number,
): number {
  const rounds = lv > fv ? lv - fv + 1n : 1n
  const validMs = rounds > BigInt(Math.floor(longestMs / roundMs)) ? longestMs : Number(rounds) * roundMs
  return createdAtMs + Math.min(longestMs, validMs)
}
