/** Where a transaction comes in: pasted, dropped or chosen. */
import { useRef, useState } from 'preact/hooks'
import { Problem } from '../components/Problem.js'
import { fromFile, fromPasted } from '../model/bytes.js'
import { messageOf } from '../store.js'

/** Sixteen of the largest fit, and the daemon takes no more. */
const mostBytes = 700_000

export function SignInput({ onBytes }: { onBytes: (bytes: Uint8Array) => Promise<void> }) {
  const text = useRef<HTMLTextAreaElement>(null)
  const file = useRef<HTMLInputElement>(null)
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [isOver, setOver] = useState(false)

  const attempt = async (work: () => Promise<Uint8Array> | Uint8Array): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      await onBytes(await work())
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
    }
  }
  const takeFile = (chosen: File | undefined): void => {
    if (chosen === undefined) return
    void attempt(async () => {
      if (chosen.size > mostBytes) throw new Error(`${chosen.name} is too large to be a transaction.`)
      return fromFile(new Uint8Array(await chosen.arrayBuffer()))
    })
  }
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    setOver(false)
    takeFile(event.dataTransfer?.files[0])
  }

  return (
    <form
      class={isOver ? 'drop over' : 'drop'}
      onSubmit={(event) => {
        event.preventDefault()
        void attempt(() => fromPasted(text.current?.value ?? ''))
      }}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <div class="field">
        <label for="transaction">Transaction or group, as base64</label>
        <textarea
          id="transaction"
          ref={text}
          rows={8}
          maxLength={mostBytes * 2}
          spellcheck={false}
          autocomplete="off"
          aria-describedby="transaction-hint"
        />
        <p class="hint" id="transaction-hint">
          Paste it, or drop its file here. You are told what it does before anything is signed.
        </p>
      </div>
      <Problem text={problem} />
      <p class="actions">
        <button type="submit" class="main" disabled={isBusy}>
          {isBusy ? 'Reading…' : 'Read it'}
        </button>
        <button type="button" onClick={() => file.current?.click()}>
          Choose a file
        </button>
        <input
          ref={file}
          type="file"
          hidden
          aria-label="File with the transaction"
          onChange={(event) => {
            takeFile(event.currentTarget.files?.[0])
            event.currentTarget.value = ''
          }}
        />
      </p>
    </form>
  )
}
