/** What the commands end with; the daemon's launchers know its own, which are the same. */
export const exitCodes = { ok: 0, usage: 1, failed: 3 } as const
