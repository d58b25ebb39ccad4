/** Turns on notifications about waiting approvals. */
import { useState } from 'preact/hooks'
import { type NotificationState, notificationState, requestNotifications } from '../notifications.js'

/** Browsers only ask the person after a click, and so does this page. */
export function NotificationButton() {
  const [state, setState] = useState<NotificationState>(notificationState)
  if (state === 'unsupported') return null
  if (state === 'granted') return <span class="soft">Notifications are on while this page is open.</span>
  if (state === 'denied') return <span class="soft">The browser blocks notifications from this page.</span>
  return (
    <button type="button" onClick={() => void requestNotifications().then(setState)}>
      Notify me
    </button>
  )
}
