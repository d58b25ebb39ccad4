/** A password field. The value stays in the element, never in component state, and is cleared when it is read. */
import type { RefObject } from 'preact'
import { useId, useState } from 'preact/hooks'

export type PasswordFieldProps = {
  label: string
  field: RefObject<HTMLInputElement | null>
  autocomplete: 'current-password' | 'new-password'
  hint?: string
  error?: string | undefined
  onInput?: () => void
  /** Called for the Enter key, which then does not submit the form around the field. */
  onEnter?: () => void
}

export function PasswordField(props: PasswordFieldProps) {
  const id = useId()
  const [isShown, setShown] = useState(false)
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <div class="with-button">
        <input
          id={id}
          ref={props.field}
          // The types do not allow a field that switches between the two.
          type={(isShown ? 'text' : 'password') as 'password'}
          autocomplete={props.autocomplete}
          autocapitalize="off"
          spellcheck={false}
          aria-describedby={`${id}-hint ${id}-error`}
          aria-invalid={props.error !== undefined}
          onInput={props.onInput}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || props.onEnter === undefined) return
            event.preventDefault()
            props.onEnter()
          }}
        />
        <button type="button" class="quiet" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
          {isShown ? 'Hide' : 'Show'}
          <span class="visually-hidden"> {props.label}</span>
        </button>
      </div>
      <p class="hint" id={`${id}-hint`}>
        {props.hint}
      </p>
      <p class="error" id={`${id}-error`} role="alert">
        {props.error}
      </p>
    </div>
  )
}

/** Returns the value and clears the field. */
export function takePassword(field: RefObject<HTMLInputElement | null>): string {
  const input = field.current
  if (input === null) return ''
  const value = input.value
  input.value = ''
  return value
}
