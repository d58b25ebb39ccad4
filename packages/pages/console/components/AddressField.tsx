/** An address field (an ARIA combobox): type or paste an address, or choose one of the own keys or contacts. */
import { useId, useState } from 'preact/hooks'
import { addressOf, type KnownAddress, matching } from '../model/knownAddresses.js'
import { shortAddress } from '../model/shortAddress.js'
import { useStore } from '../store.js'

type Props = {
  label: string
  /** The typed text: an address, a label, or a part of either. */
  value: string
  onInput: (value: string) => void
  hint?: string
  error?: string | undefined
  /** Addresses that are not offered, such as the sender. */
  exclude?: readonly string[]
  isRequired?: boolean
}

const maxOffered = 8

export function AddressField({ label, value, onInput, hint, error, exclude = [], isRequired = false }: Props) {
  const store = useStore()
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const [active, setActive] = useState(-1)
  const known = store.knownAddresses().filter(({ address }) => !exclude.includes(address))
  // The field may be too narrow for it.
  const full = addressOf(known, value)
  const chosen = known.find(({ address }) => address === full)
  const offered = (chosen?.address === value.trim() ? known : matching(known, value)).slice(0, maxOffered)
  const isShown = isOpen && offered.length > 0

  const choose = (address: string): void => {
    onInput(address)
    setOpen(false)
    setActive(-1)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      setOpen(true)
      if (offered.length === 0) return
      const step = event.key === 'ArrowDown' ? 1 : -1
      setActive(active < 0 && step < 0 ? offered.length - 1 : (active + step + offered.length) % offered.length)
    } else if (event.key === 'Enter' && isShown && offered[active] !== undefined) {
      event.preventDefault()
      choose(offered[active].address)
    } else if (event.key === 'Escape' && isShown) {
      // Keeps an enclosing dialog open.
      event.preventDefault()
      event.stopPropagation()
      setOpen(false)
    }
  }
  return (
    <div class="field combobox">
      <label for={id}>{label}</label>
      <input
        id={id}
        role="combobox"
        value={value}
        required={isRequired}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        maxLength={2_000}
        aria-autocomplete="list"
        aria-expanded={isShown}
        aria-controls={`${id}-list`}
        aria-activedescendant={isShown && active >= 0 ? `${id}-${active}` : undefined}
        aria-describedby={`${id}-hint ${id}-error`}
        aria-invalid={error !== undefined && error !== ''}
        onInput={(event) => {
          onInput(event.currentTarget.value)
          setOpen(true)
          setActive(-1)
        }}
        onFocus={() => setOpen(value === '')}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKeyDown}
      />
      <div id={`${id}-list`} role="listbox" aria-label={`Known addresses for ${label}`} hidden={!isShown}>
        {isShown &&
          offered.map((one, index) => (
            <Option
              key={one.address}
              id={`${id}-${index}`}
              known={one}
              isActive={index === active}
              onChoose={() => choose(one.address)}
            />
          ))}
      </div>
      <p class="hint" id={`${id}-hint`}>
        {chosen === undefined ? hint : describe(chosen)}
        {full !== undefined && (
          <>
            {' '}
            <code class="address">{full}</code>
          </>
        )}
      </p>
      <p class="error" id={`${id}-error`} role="alert">
        {error}
      </p>
    </div>
  )
}

type OptionProps = { id: string; known: KnownAddress; isActive: boolean; onChoose: () => void }

function Option({ id, known, isActive, onChoose }: OptionProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and handles the keys
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isActive}
      // Keeps the focus in the field.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onChoose}
    >
      <bdi class="name">{known.label === '' ? shortAddress(known.address) : known.label}</bdi>
      <span class="soft small">
        {known.label !== '' && <code>{shortAddress(known.address)}</code>}{' '}
        {known.walletName === '' ? 'address book' : `wallet ${known.walletName}`}
      </span>
    </div>
  )
}

function describe({ label, walletName }: KnownAddress): string {
  const where = walletName === '' ? 'In your address book' : `Your own key, in wallet ${walletName}`
  return label === '' ? `${where}.` : `${where}: ${label}.`
}
