/** Decides when the page renews a handle: on input, once a quarter of the handle's lifetime has passed. */

export type Lifetime = {
  lifetimeSeconds: number
  expiresAtMs: number
  /** The daemon's maximum lifetime is reached, so renewing no longer extends it. */
  isFinal: boolean
}

/** The daemon answers in whole seconds. */
const toleranceMs = 1_500

export function isRenewalDue({ lifetimeSeconds, expiresAtMs, isFinal }: Lifetime, nowMs: number): boolean {
  const leftMs = expiresAtMs - nowMs
  return !isFinal && leftMs > 0 && leftMs < lifetimeSeconds * 750
}

/** Whether the renewal at `nowMs` extended the end by less than the time since the previous one. */
export function isFinal(previous: Lifetime, renewed: Pick<Lifetime, 'expiresAtMs'>, nowMs: number): boolean {
  if (!Number.isFinite(previous.expiresAtMs)) return false
  const passedMs = nowMs - (previous.expiresAtMs - previous.lifetimeSeconds * 1000)
  const gainedMs = renewed.expiresAtMs - previous.expiresAtMs
  return passedMs > 2 * toleranceMs && gainedMs < passedMs - toleranceMs
}
