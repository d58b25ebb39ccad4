/** A native modal dialog: it traps the focus, closes on Escape and restores the focus. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

export type DialogProps = { title: string; onClose: () => void; children: ComponentChildren }

export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useLayoutEffect(() => {
    const previous = document.activeElement
    const own = dialog.current
    own?.showModal()
    // The first field of a form comes before the close button.
    own?.querySelector<HTMLElement>('form input, form textarea')?.focus()
    return () => {
      // A closed dialog has already restored the focus, and the person may have moved it since.
      const isFocusLost = document.activeElement === document.body || own?.contains(document.activeElement)
      if (isFocusLost && previous instanceof HTMLElement && previous.isConnected) previous.focus()
    }
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onClose={onClose}>
      <div class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      {children}
    </dialog>
  )
}
