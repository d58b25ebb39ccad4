/** On MainNet the person confirms that the money is real. */
type Props = {
  isChecked: boolean
  /** The facts that the person has checked. @default the amount and the receiver */
  checked?: string
  onChange: (isChecked: boolean) => void
}

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
