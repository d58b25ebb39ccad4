/** Browser notifications. They are requested only by a button, and shown only while the page is in the background. */
import type { Approval } from './responseTypes.js'
import { hrefOf } from './route.js'

export type NotificationState = 'granted' | 'denied' | 'default' | 'unsupported'

export function notificationState(): NotificationState {
  return 'Notification' in window ? Notification.permission : 'unsupported'
}

export function areNotificationsAllowed(): boolean {
  return notificationState() === 'granted'
}

/** Asks the person for permission. Browsers refuse this without a click. */
export async function requestNotifications(): Promise<NotificationState> {
  return 'Notification' in window ? Notification.requestPermission() : 'unsupported'
}

/** Announces a waiting agent. It never repeats the caller's claims. */
export function announce(approvals: readonly Approval[]): void {
  if (!areNotificationsAllowed() || document.hasFocus()) return
  for (const { id, agentName, description } of approvals.slice(0, maxAtOnce)) {
    try {
      const notification = new Notification(`${agentName} needs your approval`, {
        body: description[0] ?? '',
        tag: `latchkey-${id}`,
      })
      notification.onclick = () => {
        window.focus()
        location.hash = hrefOf({ view: 'approvals' })
      }
    } catch {
      // Some browsers only show notifications from a service worker.
    }
  }
}

const maxAtOnce = 3
