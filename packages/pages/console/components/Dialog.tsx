/** A dialog of the browser's own: it keeps the focus, Escape closes it, and the focus goes back where it was. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

export type DialogProps = { title: string; onClose: () => void; children: ComponentChildren }

export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useLayoutEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    // Where there is something to fill in, that comes before the button that closes.
    dialog.current?.querySelector<HTMLElement>('form input, form textarea')?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onClose={onClose}>
      <header class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </header>
      {children}
    </dialog>
  )
}
