/** Adds, changes or removes the label of an address. */
import { useRef, useState } from 'preact/hooks'
import { errorMessage } from '../messages.js'
import { useStore } from '../store.js'
import { Dialog } from './Dialog.js'
import { ErrorText } from './ErrorText.js'

export function LabelDialog({ address, onClose }: { address: string; onClose: () => void }) {
  const store = useStore()
  const field = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const current = store.labelOf(address)

  const save = async (label: string): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await store.setLabel(address, label)
      onClose()
    } catch (caught) {
      setError(errorMessage(caught))
      setBusy(false)
    }
  }
  return (
    <Dialog title={current === '' ? 'Label this address' : 'Change the label'} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void save(field.current?.value ?? '')
        }}
      >
        <p>
          <code class="address" translate={false}>
            {address}
          </code>
        </p>
        <div class="field">
          <label for="label-text">Label</label>
          <input id="label-text" ref={field} defaultValue={current} required maxLength={64} autocomplete="off" />
          <p class="hint">
            Your own name for this address. The daemon stores it; it is not on the ledger, and no one else sees it.
          </p>
        </div>
        <ErrorText text={error} />
        <p class="actions">
          <button type="submit" class="main" disabled={isBusy}>
            Save
          </button>
          {current !== '' && (
            <button type="button" disabled={isBusy} onClick={() => void save('')}>
              Remove label
            </button>
          )}
        </p>
      </form>
    </Dialog>
  )
}
