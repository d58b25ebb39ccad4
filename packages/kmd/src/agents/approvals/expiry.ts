/** Computes how long an approval can be decided and used: as long as its transaction can enter the ledger. */

/** The approximate time of a round on Algorand networks, at least since 2024. */
const roundMs = 2_800
const longestMs = 24 * 3_600_000

/**
 * An upper bound in time. A transaction is valid from its first to its last round, and is signed at the first round or
 * later. The ledger itself rejects it after the last round, so an approval that outlives the transaction spends
 * nothing.
 */
export function expiryOf(
  { fv = 0n, lv = 0n }: { fv?: bigint | undefined; lv?: bigint | undefined },
  createdAtMs: number,
): number {
  const rounds = lv > fv ? lv - fv + 1n : 1n
  const validMs = rounds > BigInt(Math.floor(longestMs / roundMs)) ? longestMs : Number(rounds) * roundMs
  return createdAtMs + Math.min(longestMs, validMs)
}
