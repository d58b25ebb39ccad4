/** The fields of an agent's rules: limits, payees, approvals, and expiry. */
import { SpendLimit } from '@latchkey/kmd-api/rules'
import { useId } from 'preact/hooks'
import { AddressField } from '../components/AddressField.js'
import { TextField } from '../components/TextField.js'
import type { AgentDraft, AskRow, DraftErrors, End, LimitRow } from '../model/agentDraft.js'
import type { AgentNetwork } from '../model/agentNetwork.js'
import { blankQuantity, type QuantityInput, type QuantityUnit, unitNames } from '../model/quantityInput.js'
import { formatDate } from '../model/time.js'

type Props = {
  draft: AgentDraft
  errors: DraftErrors
  network: AgentNetwork
  /** The current expiry of the agent, which can be kept; 0 for none. */
  hasEnd?: number | undefined
  onChange: (draft: AgentDraft) => void
}

const maxLimits = 20
const maxAsks = 5
const periods: { readonly [period in SpendLimit.Period]: string } = {
  payment: 'each payment',
  hour: 'an hour',
  day: 'a day',
  week: 'a week',
  '30days': 'in 30 days',
  total: 'in total',
}

export function RulesForm({ draft, errors, network, hasEnd, onChange }: Props) {
  const set = (change: Partial<AgentDraft>): void => onChange({ ...draft, ...change })
  return (
    <>
      <LimitFields draft={draft} errors={errors} network={network} set={set} />
      <PayeeFields draft={draft} errors={errors} set={set} />
      <AskFields draft={draft} errors={errors} network={network} set={set} />
      <EndFields draft={draft} errors={errors} hasEnd={hasEnd} set={set} />
      <details>
        <summary>Fees, opt-ins and applications</summary>
        <TextField
          label="Maximum fee per transaction, in ALGO"
          inputMode="decimal"
          value={draft.maxFee}
          error={errors.maxFee}
          onInput={(maxFee) => set({ maxFee })}
        />
        <TextField
          label="Assets it may opt in to (ids)"
          value={draft.optIns}
          error={errors.optIns}
          hint="Separated by commas; blank for none."
          onInput={(optIns) => set({ optIns })}
        />
        <TextField
          label="Applications it may call (ids)"
          value={draft.applications}
          error={errors.applications}
          hint="Separated by commas; blank for none. Amount limits apply only to a call’s fee, not to what the call moves."
          onInput={(applications) => set({ applications })}
        />
      </details>
    </>
  )
}

type PartProps = Omit<Props, 'onChange' | 'network'> & { set: (change: Partial<AgentDraft>) => void }

function LimitFields({ draft, errors, network, set }: PartProps & Pick<Props, 'network'>) {
  const change = (row: LimitRow): void =>
    set({ limits: draft.limits.map((other) => (other.id === row.id ? row : other)) })
  const add = (): void => {
    const id = Math.max(0, ...draft.limits.map((row) => row.id)) + 1
    set({ limits: [...draft.limits, { id, ...blankQuantity(network), per: 'day', payee: '' }] })
  }
  return (
    <fieldset>
      <legend class="rules-legend">Limits</legend>
      <p class="hint">Assets without a limit cannot be spent. Fees count as ALGO.</p>
      {draft.limits.map((row, index) => (
        <LimitFieldRow
          key={row.id}
          row={row}
          position={index + 1}
          network={network}
          error={errors.limits[row.id]}
          onChange={change}
          onRemove={() => set({ limits: draft.limits.filter((other) => other.id !== row.id) })}
        />
      ))}
      <p class="error" role="alert">
        {errors.noLimit}
      </p>
      <p class="actions after">
        <button type="button" disabled={draft.limits.length >= maxLimits} onClick={add}>
          Add a limit
        </button>
      </p>
    </fieldset>
  )
}

type LimitFieldRowProps = {
  row: LimitRow
  position: number
  network: AgentNetwork
  error: string | undefined
  onChange: (row: LimitRow) => void
  onRemove: () => void
}

function LimitFieldRow({ row, position, network, error, onChange, onRemove }: LimitFieldRowProps) {
  const id = useId()
  return (
    <div class="limit-row">
      <QuantityFields
        label={`Limit ${position}`}
        of={` of limit ${position}`}
        value={row}
        units={unitNames(network, { hasCount: true })}
        error={error}
        onChange={(quantity) => onChange({ ...row, ...quantity })}
      />
      <div class="field">
        <label for={id}>
          Period<span class="visually-hidden"> of limit {position}</span>
        </label>
        <select
          id={id}
          value={row.per}
          onChange={(event) => {
            const per = SpendLimit.periods.find((period) => period === event.currentTarget.value) ?? 'day'
            onChange({ ...row, per })
          }}
        >
          {SpendLimit.periods.map((period) => (
            <option key={period} value={period}>
              {periods[period]}
            </option>
          ))}
        </select>
      </div>
      <p class="actions">
        <button type="button" class="quiet" onClick={onRemove}>
          Remove<span class="visually-hidden"> limit {position}</span>
        </button>
      </p>
      <div class="wide">
        <details open={row.payee !== ''}>
          <summary>
            For one payee only<span class="visually-hidden">, limit {position}</span>
          </summary>
          <AddressField
            label={`Payee of limit ${position}`}
            value={row.payee}
            hint="Counts only payments to this address. Blank for all."
            onInput={(payee) => onChange({ ...row, payee })}
          />
        </details>
      </div>
    </div>
  )
}

type QuantityFieldsProps = {
  label: string
  /** Follows the names of the other fields for screen readers. */
  of: string
  value: QuantityInput
  units: readonly (readonly [QuantityUnit, string])[]
  error: string | undefined
  onChange: (quantity: QuantityInput) => void
}

/** A number and its unit, and for another asset its id. */
function QuantityFields({ label, of: suffix, value, units, error, onChange }: QuantityFieldsProps) {
  const id = useId()
  const { amount, unit, assetId } = value
  return (
    <>
      <TextField
        label={label}
        inputMode="decimal"
        value={amount}
        error={error}
        onInput={(changed) => onChange({ amount: changed, unit, assetId })}
      />
      <div class="field">
        <label for={id}>
          Unit<span class="visually-hidden">{suffix}</span>
        </label>
        <select
          id={id}
          value={unit}
          onChange={(event) => {
            const chosen = units.find(([one]) => one === event.currentTarget.value)
            if (chosen !== undefined) onChange({ amount, unit: chosen[0], assetId: '' })
          }}
        >
          {units.map(([one, name]) => (
            <option key={one} value={one}>
              {name}
            </option>
          ))}
        </select>
        {unit === 'asset' && (
          <div class="field">
            <label for={`${id}-asset`}>
              Asset ID<span class="visually-hidden">{suffix}</span>
            </label>
            <input
              id={`${id}-asset`}
              inputMode="numeric"
              maxLength={20}
              autocomplete="off"
              value={assetId}
              aria-describedby={`${id}-asset-hint`}
              onInput={(event) => onChange({ amount, unit, assetId: event.currentTarget.value })}
            />
            <p class="hint" id={`${id}-asset-hint`}>
              The amount is in the asset’s smallest unit.
            </p>
          </div>
        )}
      </div>
    </>
  )
}

function PayeeFields({ draft, errors, set }: PartProps) {
  const id = useId()
  return (
    <fieldset>
      <legend class="rules-legend">Payees</legend>
      <div class="checks">
        {(['anyone', 'listed'] as const).map((payees) => (
          <label class="check" key={payees}>
            <input
              type="radio"
              name={`${id}-payees`}
              checked={draft.payees === payees}
              onChange={() => set({ payees })}
            />
            <span>{payees === 'anyone' ? 'Anyone' : 'Only listed addresses'}</span>
          </label>
        ))}
      </div>
      {draft.payees === 'listed' && (
        <>
          <AddressList
            label="Addresses it may pay"
            value={draft.allow}
            error={errors.allow}
            onInput={(allow) => set({ allow })}
          />
          <div class="checks">
            <label class="check">
              <input
                type="checkbox"
                checked={draft.asksUnknownPayee}
                onChange={(event) => set({ asksUnknownPayee: event.currentTarget.checked })}
              />
              <span>Ask me about other addresses, instead of refusing them</span>
            </label>
          </div>
        </>
      )}
      <details open={draft.deny !== ''}>
        <summary>Addresses it may never pay</summary>
        <AddressList
          label="Addresses it may never pay"
          value={draft.deny}
          error={errors.deny}
          onInput={(deny) => set({ deny })}
        />
      </details>
    </fieldset>
  )
}

type AddressListProps = { label: string; value: string; error: string | undefined; onInput: (value: string) => void }

function AddressList({ label, value, error, onInput }: AddressListProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={3}
        maxLength={70_000}
        autocapitalize="off"
        spellcheck={false}
        value={value}
        aria-describedby={`${id}-hint ${id}-error`}
        aria-invalid={error !== undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <p class="hint" id={`${id}-hint`}>
        One per line: an address, or a name in the address book.
      </p>
      <p class="error" id={`${id}-error`} role="alert">
        {error}
      </p>
    </div>
  )
}

function AskFields({ draft, errors, network, set }: PartProps & Pick<Props, 'network'>) {
  const change = (row: AskRow): void =>
    set({ askAbove: draft.askAbove.map((other) => (other.id === row.id ? row : other)) })
  const add = (): void => {
    const id = Math.max(0, ...draft.askAbove.map((row) => row.id)) + 1
    set({ askAbove: [...draft.askAbove, { id, ...blankQuantity(network), unit: 'algo' }] })
  }
  const hasOthers = draft.optIns.trim() !== '' || draft.applications.trim() !== ''
  return (
    <fieldset>
      <legend class="rules-legend">When it asks you</legend>
      <p class="hint">Payments above an amount wait for your approval. Leave it blank for none.</p>
      {draft.askAbove.map((row, index) => (
        <div class="limit-row" key={row.id}>
          <QuantityFields
            label={index === 0 ? 'Ask above' : `Ask above, amount ${index + 1}`}
            of={` of amount ${index + 1}`}
            value={row}
            units={unitNames(network, { hasCount: false })}
            error={errors.askAbove?.[row.id]}
            onChange={(quantity) => change({ ...row, ...quantity })}
          />
          {draft.askAbove.length > 1 && (
            <p class="actions">
              <button
                type="button"
                class="quiet"
                onClick={() => set({ askAbove: draft.askAbove.filter(({ id }) => id !== row.id) })}
              >
                Remove<span class="visually-hidden"> amount {index + 1}</span>
              </button>
            </p>
          )}
        </div>
      ))}
      {draft.askAbove.length < maxAsks && draft.askAbove.every(({ amount }) => amount.trim() !== '') && (
        <p class="actions after">
          <button type="button" onClick={add}>
            Add an amount in another asset
          </button>
        </p>
      )}
      <div class="checks">
        <label class="check">
          <input
            type="checkbox"
            checked={draft.asksOverLimit}
            onChange={(event) => set({ asksOverLimit: event.currentTarget.checked })}
          />
          <span>Ask me about payments above a limit, instead of refusing them</span>
        </label>
        {hasOthers && (
          <label class="check">
            <input
              type="checkbox"
              checked={draft.asksOtherTypes}
              onChange={(event) => set({ asksOtherTypes: event.currentTarget.checked })}
            />
            <span>Ask me about every opt-in and application call</span>
          </label>
        )}
      </div>
    </fieldset>
  )
}

function EndFields({ draft, errors, hasEnd, set }: PartProps) {
  const id = useId()
  const ends: readonly (readonly [End, string])[] = [
    ...(!hasEnd ? [] : [['keep', `unchanged: ${formatDate(hasEnd)}`] as const]),
    ['7', 'in 7 days'],
    ['30', 'in 30 days'],
    ['90', 'in 90 days'],
    ['365', 'in a year'],
    ['date', 'on a date'],
    ['never', 'never'],
  ]
  return (
    <div class="narrow field">
      <div class="field">
        <label for={id}>It ends</label>
        <select
          id={id}
          value={draft.end}
          onChange={(event) => {
            const chosen = ends.find(([end]) => end === event.currentTarget.value)
            if (chosen !== undefined) set({ end: chosen[0] })
          }}
        >
          {ends.map(([end, name]) => (
            <option key={end} value={end}>
              {name}
            </option>
          ))}
        </select>
      </div>
      {draft.end === 'date' && (
        <div class="field">
          <label for={`${id}-date`}>Last day</label>
          <input
            id={`${id}-date`}
            type="date"
            value={draft.date}
            aria-describedby={`${id}-error`}
            aria-invalid={errors.date !== undefined}
            onInput={(event) => set({ date: event.currentTarget.value })}
          />
          <p class="error" id={`${id}-error`} role="alert">
            {errors.date}
          </p>
        </div>
      )}
    </div>
  )
}
