/** A password: read when it is sent, cleared right after, and never kept in the state of a component. */
import type { RefObject } from 'preact'
import { useId, useState } from 'preact/hooks'

export type PasswordFieldProps = {
  label: string
  field: RefObject<HTMLInputElement | null>
  autocomplete: 'current-password' | 'new-password'
  hint?: string
  error?: string | undefined
  onInput?: () => void
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
          // The types know one or the other, not a field that is both in turn.
          type={(isShown ? 'text' : 'password') as 'password'}
          autocomplete={props.autocomplete}
          autocapitalize="off"
          spellcheck={false}
          aria-describedby={`${id}-hint ${id}-error`}
          aria-invalid={props.error !== undefined}
          onInput={props.onInput}
        />
        <button type="button" class="quiet" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
          {isShown ? 'Hide' : 'Show'}
          <span class="unseen"> {props.label}</span>
        </button>
      </div>
      <p class="hint" id={`${id}-hint`}>
        {props.hint}
      </p>
      <p class="wrong" id={`${id}-error`} role="alert">
        {props.error}
      </p>
    </div>
  )
}

/** The value, which the field then no longer has. */
export function takePassword(field: RefObject<HTMLInputElement | null>): string {
  const input = field.current
  if (input === null) return ''
  const value = input.value
  input.value = ''
  return value
}
