/** When the page renews a handle: at input, once a quarter of the handle's time has passed. */

export type Lifetime = {
  lifetimeSeconds: number
  expiresAtMs: number
  /** The daemon's longest lifetime is reached: renewing brings nothing more. */
  isFinal: boolean
}

/** The daemon answers in whole seconds. */
const toleranceMs = 1_500

export function isRenewalDue({ lifetimeSeconds, expiresAtMs, isFinal }: Lifetime, nowMs: number): boolean {
  const leftMs = expiresAtMs - nowMs
  return !isFinal && leftMs > 0 && leftMs < lifetimeSeconds * 750
}

/** Whether the renewal at `nowMs` moved the end as far as the time that has passed since the previous one. */
export function isFinal(previous: Lifetime, renewed: Pick<Lifetime, 'expiresAtMs'>, nowMs: number): boolean {
  if (!Number.isFinite(previous.expiresAtMs)) return false
  const passedMs = nowMs - (previous.expiresAtMs - previous.lifetimeSeconds * 1000)
  const gainedMs = renewed.expiresAtMs - previous.expiresAtMs
  return passedMs > 2 * toleranceMs && gainedMs < passedMs - toleranceMs
}
