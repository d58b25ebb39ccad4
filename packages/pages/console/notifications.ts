/** Notifications of the browser. They are asked for by a button only, and shown only while the page is not in front. */
import type { Approval } from '@latchkey/kmd-client'
import { hrefOf } from './route.js'

export type NotificationState = 'granted' | 'denied' | 'default' | 'unsupported'

export function notificationState(): NotificationState {
  return 'Notification' in window ? Notification.permission : 'unsupported'
}

export function areNotificationsAllowed(): boolean {
  return notificationState() === 'granted'
}

/** Asks the person. Browsers refuse this without a click. */
export async function requestNotifications(): Promise<NotificationState> {
  return 'Notification' in window ? Notification.requestPermission() : 'unsupported'
}

/** Says that an agent waits. It repeats nothing that the caller claims. */
export function announce(approvals: readonly Approval[]): void {
  if (!areNotificationsAllowed() || document.hasFocus()) return
  for (const { id, agentName, description } of approvals.slice(0, maxAtOnce)) {
    try {
      const notification = new Notification(`${agentName} asks for your approval`, {
        body: description[0] ?? '',
        tag: `latchkey-${id}`,
      })
      notification.onclick = () => {
        window.focus()
        location.hash = hrefOf({ view: 'approvals' })
      }
    } catch {
      // Some browsers show notifications from a service worker only.
    }
  }
}

const maxAtOnce = 3
