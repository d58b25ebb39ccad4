/** There is no session: why, and how to open one. */
import { Heading } from '../components/Heading.js'

/** `none`: never was one; `used`: the link no longer works; `lost`: the daemon ended it; `closed`: the person did. */
export type End = 'none' | 'used' | 'lost' | 'closed' | 'unreachable'

const texts: { [end in End]: { title: string; text: string } } = {
  none: {
    title: 'Open the console by its link',
    text: 'This page is opened by a link that works once.',
  },
  used: {
    title: 'This link no longer works',
    text: 'A link opens the console once, within a minute of being made. This one was used before, or is too old.',
  },
  lost: {
    title: 'The session has ended',
    text: 'Sessions end after 30 minutes without use, after 12 hours, when the API token is changed, and with the daemon. Your wallets and keys are untouched; wallets that this page had unlocked lock themselves when their time is over.',
  },
  closed: {
    title: 'You have ended the session',
    text: 'The wallets this page had unlocked are locked again. You may close this tab.',
  },
  unreachable: {
    title: 'The daemon does not answer',
    text: 'If it was stopped, start it again with `latchkey kmd`.',
  },
}

export function EndedView({ end }: { end: End }) {
  const { title, text } = texts[end]
  return (
    <main class="ended">
      <p class="brand">Latchkey console</p>
      <Heading key={end}>{title}</Heading>
      <p>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}</p>
      <p>
        To open it{end === 'none' ? '' : ' again'}, run this on the machine where the daemon runs, and follow the link
        it prints:
      </p>
      <pre>
        <code>latchkey console</code>
      </pre>
    </main>
  )
}
