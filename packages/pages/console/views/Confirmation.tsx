/** Warnings are not to be clicked away: a word has to be typed. */
const word = 'sign anyway'

type Props = { count: number; value: string; onChange: (value: string) => void }

export function Confirmation({ count, value, onChange }: Props) {
  return (
    <div class="field narrow">
      <label for="confirmation">
        {count === 1 ? 'There is a warning above.' : `There are ${count} warnings above.`} If you want this all the
        same, type <q>{word}</q>
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
  return value.trim().toLowerCase() === word
}
