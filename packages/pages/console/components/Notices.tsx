/** What happened without having been asked for. Read out when it appears, and there until it is put away. */
import { useStore } from '../store.js'

export function Notices() {
  const store = useStore()
  return (
    <div class="notices" role="status" aria-live="polite">
      {store.notices.map(({ id, isProblem, text }) => (
        <p key={id} class={isProblem ? 'notice problem' : 'notice'}>
          <span>{text}</span>
          <button type="button" class="quiet" onClick={() => store.dismiss(id)}>
            Dismiss
          </button>
        </p>
      ))}
    </div>
  )
}
