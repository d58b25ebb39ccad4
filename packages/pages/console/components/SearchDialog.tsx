/** Search over wallets, addresses, labels and signed transactions. */
import { useEffect, useState } from 'preact/hooks'
import { formatMoney } from '../model/amount.js'
import { typeName } from '../model/payments.js'
import { maxQueryLength, type SearchResult, search } from '../model/search.js'
import { shortAddress } from '../model/shortAddress.js'
import { formatTime } from '../model/time.js'
import { loadSignatureLog } from '../paymentsPolling.js'
import { navigate, type Route } from '../route.js'
import { useStore } from '../store.js'
import { Dialog } from './Dialog.js'

export function SearchDialog({ onClose }: { onClose: () => void }) {
  const store = useStore()
  const [query, setQuery] = useState('')
  const [active, setActive] = useState(0)
  useEffect(() => {
    // Data that cannot be loaded is missing from the results; the views show the error.
    void Promise.allSettled([store.loadWallets(), store.loadLabels(), loadSignatureLog(store)]).then(() =>
      store.emitChange(),
    )
  }, [store])
  const results = search(query, {
    wallets: store.wallets ?? [],
    nameOf: (wallet) => store.displayName(wallet),
    known: store.knownAddresses(),
    entries: store.payments.newestFirst,
  })
  const choose = (result: SearchResult | undefined): void => {
    if (result === undefined) return
    onClose()
    navigate(routeOf(result))
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0 || results.length === 0) return
    event.preventDefault()
    setActive((active + step + results.length) % results.length)
  }
  const isAsked = query.trim() !== ''
  const lockedCount = (store.wallets ?? []).filter(({ id }) => store.openWallet(id) === undefined).length
  return (
    <Dialog title="Search" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          choose(results[active])
        }}
      >
        <div class="field">
          <label for="search-text">Wallet, address, label or transaction ID</label>
          <input
            id="search-text"
            type="text"
            role="combobox"
            value={query}
            maxLength={maxQueryLength}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            aria-autocomplete="list"
            aria-expanded={results.length > 0}
            aria-controls="search-results"
            aria-activedescendant={results.length > 0 ? `search-${active}` : undefined}
            onInput={(event) => {
              setQuery(event.currentTarget.value)
              setActive(0)
            }}
            onKeyDown={onKeyDown}
          />
        </div>
      </form>
      <div id="search-results" role="listbox" aria-label="Results" hidden={results.length === 0}>
        {results.map((result, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and handles the keys
          <div
            key={index}
            id={`search-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            onClick={() => choose(result)}
          >
            <ResultText result={result} />
          </div>
        ))}
      </div>
      <p class="soft small" role="status">
        {isAsked && results.length === 0 && 'Nothing found. '}
        {isAsked && lockedCount > 0 && 'Addresses of locked wallets are not searched. '}
        {!isAsked && 'Arrow keys choose, Enter opens.'}
      </p>
    </Dialog>
  )
}

function ResultText({ result }: { result: SearchResult }) {
  const { dollarIds } = useStore()
  const { name, detail } = describe(result, dollarIds)
  return (
    <>
      <bdi class="name">{name}</bdi>
      <span class="soft small">{detail}</span>
    </>
  )
}

function describe(result: SearchResult, dollarIds: readonly string[]): { name: string; detail: string } {
  switch (result.kind) {
    case 'wallet':
      return { name: result.name, detail: 'wallet' }
    case 'new-address':
      return { name: shortAddress(result.address), detail: 'give this address a label' }
    case 'address': {
      const { address, label, walletName } = result.known
      const where = walletName === '' ? 'address book' : `your key in ${walletName}`
      return label === ''
        ? { name: shortAddress(address), detail: where }
        : { name: label, detail: `${shortAddress(address)}, ${where}` }
    }
    case 'transaction': {
      const { entry } = result
      const id = shortAddress(entry.transactionId === '' ? entry.program : entry.transactionId)
      const amount = entry.amount === '0' ? '' : `${formatMoney(entry.amount, entry, dollarIds)}, `
      return { name: id, detail: `${typeName(entry.type)}, ${amount}signed at ${formatTime(entry.atMs)}` }
    }
  }
}

function routeOf(result: SearchResult): Route {
  switch (result.kind) {
    case 'wallet':
      return { view: 'wallets', walletId: result.id }
    case 'new-address':
      return { view: 'addresses', address: result.address }
    case 'address': {
      const { walletId, address } = result.known
      return walletId === '' ? { view: 'addresses', address } : { view: 'wallets', walletId, address }
    }
    case 'transaction': {
      const { transactionId, program } = result.entry
      return { view: 'payments', transactionId: transactionId === '' ? program : transactionId }
    }
  }
}
