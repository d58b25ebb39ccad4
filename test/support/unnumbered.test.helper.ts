import type { ClaimResult } from '@latchkey/x402/server'

/** Returns the result of a claim without its number. */
export async function unnumbered(result: ClaimResult | Promise<ClaimResult>): Promise<ClaimResult> {
  const { fence: _, ...found } = (await result) as ClaimResult & { fence?: number }
  return found as ClaimResult
}
