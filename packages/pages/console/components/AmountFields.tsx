/** Fields for an amount and its asset. */
import { useId } from 'preact/hooks'
import type { Unit } from '../model/amountInput.js'
import { unitLabel } from '../model/sendDraft.js'
import { TextField } from './TextField.js'

type Props = {
  label: string
  amount: string
  onAmount: (amount: string) => void
  units: readonly Unit[]
  unit: Unit
  onUnit: (assetId: string) => void
  hint?: string
  error?: string | undefined
  /** Enters the whole balance. @default there is no such button */
  onAll?: (() => void) | undefined
}

export function AmountFields(props: Props) {
  const { label, amount, onAmount, units, unit, onUnit, hint, error, onAll } = props
  const id = useId()
  return (
    <div class={onAll === undefined ? 'amount-row' : 'amount-row with-all'}>
      <TextField label={label} value={amount} onInput={onAmount} inputMode="decimal" hint={hint} error={error} />
      {onAll !== undefined && (
        <button type="button" onClick={onAll}>
          All<span class="visually-hidden"> that can be sent</span>
        </button>
      )}
      <div class="field">
        <label for={id}>Asset</label>
        <select id={id} value={unit.assetId} onChange={(event) => onUnit(event.currentTarget.value)}>
          {units.map((one) => (
            <option key={one.assetId} value={one.assetId}>
              {unitLabel(one)}
            </option>
          ))}
        </select>
      </div>
    </div>
  )
}
