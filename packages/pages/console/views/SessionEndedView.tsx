/** Shown without a session: explains why, and how to open one. */
import { Heading } from '../components/Heading.js'

export type EndReason = 'no-link' | 'link-expired' | 'expired' | 'closed' | 'unreachable'

const texts: { [reason in EndReason]: { title: string; text: string } } = {
  'no-link': {
    title: 'Open the console with a link',
    text: 'The console opens with a link that works once.',
  },
  'link-expired': {
    title: 'This link no longer works',
    text: 'A link opens the console once, within a minute. This link was already used, or it has expired.',
  },
  expired: {
    title: 'The session has ended',
    text: 'A session ends after 30 minutes without use, after 12 hours, when the API token changes, and when the daemon stops. Your wallets and keys are not affected. Wallets unlocked here lock when their time expires.',
  },
  closed: {
    title: 'You ended the session',
    text: 'The wallets that were unlocked here are locked. You can close this tab.',
  },
  unreachable: {
    title: 'The daemon does not respond',
    text: 'If it was stopped, start it again with `latchkey kmd`.',
  },
}

export function SessionEndedView({ reason }: { reason: EndReason }) {
  const { title, text } = texts[reason]
  return (
    <main class="ended">
      <p class="brand">Latchkey console</p>
      <Heading key={reason}>{title}</Heading>
      <p>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}</p>
      <p>
        To open the console{reason === 'no-link' ? '' : ' again'}, run this command on the daemon’s machine and open the
        link that it prints:
      </p>
      <pre>
        <code>latchkey console</code>
      </pre>
    </main>
  )
}
