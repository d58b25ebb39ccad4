/** Notices about background events. Screen readers announce them; they stay until dismissed. */
import { useStore } from '../store.js'

export function Notices() {
  const store = useStore()
  return (
    <div class="notices" role="status" aria-live="polite">
      {store.notices.map(({ id, isError, text }) => (
        <p key={id} class={isError ? 'notice error' : 'notice'}>
          <span>{text}</span>
          <button type="button" class="quiet" onClick={() => store.dismiss(id)}>
            Dismiss
          </button>
        </p>
      ))}
    </div>
  )
}
