/** Reads a transaction or group that is pasted, dropped or chosen as a file. */
import { useRef, useState } from 'preact/hooks'
import { ErrorText } from '../components/ErrorText.js'
import { ConsoleError } from '../errors.js'
import { errorMessage } from '../messages.js'
import { fromFile, fromText } from '../model/transactionInput.js'

/** Fits a group of 16 transactions of the largest size; the daemon accepts no more. */
const maxBytes = 700_000

export function SignInput({ onBytes }: { onBytes: (bytes: Uint8Array) => Promise<void> }) {
  const text = useRef<HTMLTextAreaElement>(null)
  const file = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [isDragOver, setDragOver] = useState(false)

  const load = async (read: () => Promise<Uint8Array> | Uint8Array): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await onBytes(await read())
    } catch (caught) {
      setError(errorMessage(caught))
      setBusy(false)
    }
  }
  const loadFile = (chosen: File | undefined): void => {
    if (chosen === undefined) return
    void load(async () => {
      if (chosen.size > maxBytes) throw new ConsoleError('file_too_large')
      return fromFile(new Uint8Array(await chosen.arrayBuffer()))
    })
  }
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    setDragOver(false)
    loadFile(event.dataTransfer?.files[0])
  }

  return (
    <form
      class={isDragOver ? 'drop over' : 'drop'}
      onSubmit={(event) => {
        event.preventDefault()
        void load(() => fromText(text.current?.value ?? ''))
      }}
      onDragOver={(event) => {
        event.preventDefault()
        setDragOver(true)
      }}
      onDragLeave={() => setDragOver(false)}
      onDrop={drop}
    >
      <div class="field">
        <label for="transaction">Transaction or group, as base64</label>
        <textarea
          id="transaction"
          ref={text}
          rows={8}
          maxLength={maxBytes * 2}
          spellcheck={false}
          autocomplete="off"
          aria-describedby="transaction-hint"
        />
        <p class="hint" id="transaction-hint">
          Paste it, or drop a file here. You review what it does before you sign.
        </p>
      </div>
      <ErrorText text={error} />
      <p class="actions">
        <button type="submit" class="main" disabled={isBusy}>
          {isBusy ? 'Reading…' : 'Review'}
        </button>
        <button type="button" onClick={() => file.current?.click()}>
          Choose file
        </button>
        <input
          ref={file}
          type="file"
          hidden
          aria-label="Transaction file"
          onChange={(event) => {
            loadFile(event.currentTarget.files?.[0])
            event.currentTarget.value = ''
          }}
        />
      </p>
    </form>
  )
}
