/** The address book: labels that the owner gave to addresses. */
import { Address } from '@latchkey/algorand'
import { useState } from 'preact/hooks'
import { AddressText } from '../components/AddressText.js'
import { CopyButton } from '../components/CopyButton.js'
import { ErrorText } from '../components/ErrorText.js'
import { Heading } from '../components/Heading.js'
import { LabelDialog } from '../components/LabelDialog.js'
import { QrDialog } from '../components/QrCode.js'
import { scrollTo } from '../components/scrollTo.js'
import { errorMessage } from '../messages.js'
import { addressProblem } from '../model/knownAddresses.js'
import { shortAddress } from '../model/shortAddress.js'
import { usePolling } from '../polling.js'
import { sendTo } from '../sendDrafts.js'
import { useStore } from '../store.js'

type Shown = { kind: 'label' | 'qr'; address: string }

export function AddressBookView({ address: wanted }: { address: string | undefined }) {
  const store = useStore()
  const [shown, setShown] = useState<Shown>()
  usePolling(() => store.loadLabels(), 15_000, [store])
  const known = store.knownAddresses()
  const own = new Set(known.filter(({ walletId }) => walletId !== '').map(({ address }) => address))
  const isAvailable = store.labelsError === undefined
  return (
    <section aria-labelledby="addresses-title">
      <Heading id="addresses-title">Address book</Heading>
      <p class="soft lede">
        Your own names for addresses. The daemon stores them in its data directory. This console shows them next to the
        address, never instead of it.
      </p>
      <ErrorText text={isAvailable ? undefined : errorMessage(store.labelsError)} />
      {isAvailable && <AddContact key={wanted} initial={isUnlabelled(store.labels, wanted) ? wanted : ''} />}
      {isAvailable && store.labels.size === 0 && (
        <p class="empty">No labels yet. Label an exchange, a shop, or one of your own keys.</p>
      )}
      <ul class="rows" aria-label="Address book">
        {[...store.labels].map(([address]) => (
          <li key={address} class={address === wanted ? 'found' : undefined} ref={address === wanted ? scrollTo : null}>
            <div class="address-line">
              <span>
                <AddressText address={address} />
                {own.has(address) && <span class="tag">yours</span>}
              </span>
              <span class="actions">
                <CopyButton text={address} what={`address ${shortAddress(address)}`} />
                <button type="button" class="quiet" onClick={() => sendTo(store, address)}>
                  Send<span class="visually-hidden"> to {shortAddress(address)}</span>
                </button>
                <button type="button" class="quiet" onClick={() => setShown({ kind: 'qr', address })}>
                  QR code<span class="visually-hidden"> of {shortAddress(address)}</span>
                </button>
                <button type="button" class="quiet" onClick={() => setShown({ kind: 'label', address })}>
                  Change label<span class="visually-hidden"> of {shortAddress(address)}</span>
                </button>
              </span>
            </div>
          </li>
        ))}
      </ul>
      {shown?.kind === 'label' && <LabelDialog address={shown.address} onClose={() => setShown(undefined)} />}
      {shown?.kind === 'qr' && <QrDialog address={shown.address} onClose={() => setShown(undefined)} />}
    </section>
  )
}

function isUnlabelled(labels: ReadonlyMap<string, string>, address: string | undefined): address is string {
  return address !== undefined && Address.isValid(address) && !labels.has(address)
}

function AddContact({ initial }: { initial: string }) {
  const store = useStore()
  const [address, setAddress] = useState(initial)
  const [label, setLabel] = useState('')
  const [addressError, setAddressError] = useState<string>()
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)

  const add = async (event: Event): Promise<void> => {
    event.preventDefault()
    const text = address.trim()
    setError(undefined)
    if (!Address.isValid(text)) return setAddressError(addressProblem(text, { isName: false }))
    if (store.labels.has(text)) return setAddressError(`This address already has a label: ${store.labelOf(text)}.`)
    setBusy(true)
    try {
      await store.setLabel(text, label)
      setAddress('')
      setLabel('')
    } catch (caught) {
      setError(errorMessage(caught))
    }
    setBusy(false)
  }
  return (
    <form class="add-contact" onSubmit={add}>
      <div class="field">
        <label for="contact-address">Address</label>
        <input
          id="contact-address"
          value={address}
          required
          maxLength={100}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          aria-invalid={addressError !== undefined}
          aria-describedby="contact-address-error"
          onInput={(event) => {
            setAddress(event.currentTarget.value)
            setAddressError(undefined)
          }}
        />
        <p class="error" id="contact-address-error" role="alert">
          {addressError}
        </p>
      </div>
      <div class="field">
        <label for="contact-label">Label</label>
        <input
          id="contact-label"
          value={label}
          required
          maxLength={64}
          autocomplete="off"
          onInput={(event) => setLabel(event.currentTarget.value)}
        />
      </div>
      <button type="submit" class="main" disabled={isBusy}>
        Add
      </button>
      <ErrorText text={error} />
    </form>
  )
}
