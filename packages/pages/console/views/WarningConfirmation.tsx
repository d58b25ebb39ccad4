/** Asks the person to type a phrase, because a click is too easy for irreversible effects. */
const phrase = 'sign anyway'

type Props = { count: number; value: string; onChange: (value: string) => void }

export function WarningConfirmation({ count, value, onChange }: Props) {
  return (
    <div class="field narrow">
      <label for="confirmation">
        {count === 1 ? 'There is a warning above.' : `There are ${count} warnings above.`} To sign anyway, type{' '}
        <q>{phrase}</q>
      </label>
      <input
        id="confirmation"
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
