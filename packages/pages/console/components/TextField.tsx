/** A text field with its hint and its error. */
import { useId } from 'preact/hooks'

type Props = {
  label: string
  value: string
  onInput: (value: string) => void
  hint?: string | undefined
  error?: string | undefined
  inputMode?: 'decimal' | 'numeric' | 'text'
}

const maxLength = 2_000

export function TextField({ label, value, onInput, hint, error, inputMode = 'text' }: Props) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        value={value}
        inputMode={inputMode}
        maxLength={maxLength}
        autocomplete="off"
        spellcheck={false}
        aria-describedby={`${id}-hint ${id}-error`}
        aria-invalid={error !== undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
      <p class="error" id={`${id}-error`} role="alert">
        {error}
      </p>
    </div>
  )
}
