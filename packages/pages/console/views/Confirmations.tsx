/** Confirmations before a signature, and before a secret is shown. */
import type { ComponentChildren } from 'preact'

type Props = {
  isChecked: boolean
  /** The facts that the person has checked. @default the amount and the receiver */
  checked?: string
  onChange: (isChecked: boolean) => void
}

/** On MainNet the person confirms that the money is real. */
export function RealMoneyConfirmation({ isChecked, checked = 'the amount and the receiver', onChange }: Props) {
  return (
    <label class="check caution">
      <input type="checkbox" checked={isChecked} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>
        <b>This is MainNet: the money is real.</b> I have checked {checked}. Payments cannot be reversed.
      </span>
    </label>
  )
}

const phrase = 'sign anyway'

type WarningProps = { count: number; value: string; onChange: (value: string) => void }

/** Asks the person to type a phrase, because a click is too easy for irreversible effects. */
export function WarningConfirmation({ count, value, onChange }: WarningProps) {
  return (
    <TypedPhrase id="confirmation" value={value} onChange={onChange}>
      {count === 1 ? 'There is a warning above.' : `There are ${count} warnings above.`} To sign anyway, type{' '}
      <q>{phrase}</q>
    </TypedPhrase>
  )
}

type PhraseProps = { id: string; value: string; onChange: (value: string) => void; children: ComponentChildren }

/** A field for a phrase that the label names. */
export function TypedPhrase({ id, value, onChange, children }: PhraseProps) {
  return (
    <div class="field narrow">
      <label for={id}>{children}</label>
      <input
        id={id}
        value={value}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  )
}

export function isConfirmed(value: string): boolean {
  return value.trim().toLowerCase() === phrase
}
