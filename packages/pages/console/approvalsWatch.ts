/**
 * Watches the approvals that wait for the owner, for the count in the navigation and for notifications. While the page
 * is in use, the daemon answers as soon as something changes. A page in the background polls at intervals, and only if
 * notifications are allowed. The daemon does not count polling as use, so the session still expires on time.
 */
import { approvalOperations } from '@latchkey/kmd-api/operations'
import { announce, areNotificationsAllowed } from './notifications.js'
import { isInUse } from './polling.js'
import type { Store } from './store.js'

const waitSeconds = 25
const hiddenEveryMs = 15_000
const idleEveryMs = 1_000
const failedEveryMs = 5_000

/** Watches until the returned function is called. */
export function watchApprovals(store: Store): () => void {
  const stop = new AbortController()
  void watch(store, stop.signal)
  return () => stop.abort()
}

async function watch(store: Store, signal: AbortSignal): Promise<void> {
  let revision = ''
  while (!signal.aborted) {
    const isAttended = isInUse()
    if (!isAttended && !areNotificationsAllowed()) {
      await pause(idleEveryMs, signal)
      continue
    }
    try {
      // Without a revision the first answer is immediate.
      const seconds = isAttended && revision !== '' ? waitSeconds : 0
      const request = { revision, wait_seconds: seconds }
      const listed = await store.daemon.call(approvalOperations.WatchApprovals, request, { signal })
      if (signal.aborted) return
      if (listed.revision !== revision) {
        const isFirst = revision === ''
        revision = listed.revision
        const known = new Set(store.openApprovals?.map(({ id }) => id))
        store.setOpenApprovals(listed.approvals, revision)
        if (!isFirst) announce(listed.approvals.filter(({ id }) => !known.has(id)))
      }
      if (!isAttended) await pause(hiddenEveryMs, signal)
    } catch {
      // The views show the error. The watch retries until the daemon is back.
      await pause(failedEveryMs, signal)
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = window.setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
