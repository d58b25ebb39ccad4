/** The filters of the activity view. */
import { Address } from '@latchkey/algorand'
import { useId, useState } from 'preact/hooks'
import type { AuditQuery } from '../audit.js'
import { AddressField } from '../components/AddressField.js'
import { TextField } from '../components/TextField.js'
import { eventKinds, eventTitle } from '../model/auditWords.js'
import { addressOf, addressProblem } from '../model/knownAddresses.js'
import { safeName } from '../model/safeName.js'
import type { Agent } from '../responseTypes.js'
import { useStore } from '../store.js'

type Props = { query: AuditQuery; agents: readonly Agent[]; onSearch: (query: AuditQuery) => void }

type Fields = {
  /** A kind or an event, or empty for all. */
  what: string
  agentId: string
  walletId: string
  address: string
  transactionId: string
  text: string
  after: string
  before: string
}

const blank: Fields = {
  ...{ what: '', agentId: '', walletId: '', address: '', transactionId: '', text: '', after: '', before: '' },
}

/** The daemon's limit, in bytes. */
const maxTextBytes = 256

export function ActivityFilters({ query, agents, onSearch }: Props) {
  const store = useStore()
  const id = useId()
  const [fields, setFields] = useState<Fields>({ ...blank, agentId: query.agent_id ?? '' })
  const [errors, setErrors] = useState<Partial<Fields>>({})
  // On a phone, the fields would take the whole screen before the first record.
  const [isOpen] = useState(() => query.agent_id !== undefined || matchMedia('(min-width: 48rem)').matches)
  const set = (change: Partial<Fields>): void => setFields({ ...fields, ...change })
  const search = (event: Event): void => {
    event.preventDefault()
    const typed = fields.address.trim()
    const address = typed === '' ? '' : (addressOf(store.knownAddresses(), typed) ?? '')
    const transactionId = fields.transactionId.trim()
    const found: Partial<Fields> = {
      ...(typed !== '' && !Address.isValid(address) && { address: addressProblem(typed) }),
      ...(transactionId !== '' &&
        !/^[A-Z2-7]{52}$/.test(transactionId) && { transactionId: 'A transaction ID has 52 letters and digits.' }),
      ...(new TextEncoder().encode(fields.text.trim()).length > maxTextBytes && { text: 'This text is too long.' }),
    }
    setErrors(found)
    if (Object.keys(found).length > 0) return
    onSearch({
      events: eventsOf(fields.what),
      agent_id: fields.agentId || undefined,
      wallet: fields.walletId || undefined,
      address: address || undefined,
      transaction_id: transactionId || undefined,
      text: fields.text.trim() || undefined,
      after_ms: timeOf(fields.after),
      before_ms: timeOf(fields.before),
    })
  }
  const clear = (): void => {
    setFields(blank)
    setErrors({})
    onSearch({})
  }
  // An agent in the URL that is not in the list is still searched for.
  const others = fields.agentId !== '' && !agents.some((agent) => agent.id === fields.agentId) ? [fields.agentId] : []
  return (
    <details class="filter-box" open={isOpen}>
      <summary>Filters</summary>
      <form class="filters" aria-label="Filters" onSubmit={search}>
        <div class="field">
          <label for={`${id}-what`}>What</label>
          <select id={`${id}-what`} value={fields.what} onChange={(event) => set({ what: event.currentTarget.value })}>
            <option value="">Everything</option>
            {eventKinds.map(({ name, events }) => (
              <optgroup key={name} label={name}>
                <option value={name}>{name}: all</option>
                {events.map((event) => (
                  <option key={event} value={event}>
                    {eventTitle(event)}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        </div>
        <div class="field">
          <label for={`${id}-agent`}>Agent</label>
          <select
            id={`${id}-agent`}
            value={fields.agentId}
            onChange={(event) => set({ agentId: event.currentTarget.value })}
          >
            <option value="">All agents and you</option>
            {agents.map((agent) => (
              <option key={agent.id} value={agent.id}>
                {safeName(agent.name)}
              </option>
            ))}
            {others.map((agentId) => (
              <option key={agentId} value={agentId}>
                {safeName(agentId)}
              </option>
            ))}
          </select>
        </div>
        <div class="field">
          <label for={`${id}-wallet`}>Wallet</label>
          <select
            id={`${id}-wallet`}
            value={fields.walletId}
            onChange={(event) => set({ walletId: event.currentTarget.value })}
          >
            <option value="">All</option>
            {(store.wallets ?? []).map((wallet) => (
              <option key={wallet.id} value={wallet.id}>
                {store.displayName(wallet)}
              </option>
            ))}
          </select>
        </div>
        <AddressField
          label="Address"
          value={fields.address}
          error={errors.address}
          onInput={(address) => set({ address })}
        />
        <TextField
          label="Transaction ID"
          value={fields.transactionId}
          error={errors.transactionId}
          onInput={(transactionId) => set({ transactionId })}
        />
        <TextField label="Text" value={fields.text} error={errors.text} onInput={(text) => set({ text })} />
        <TimeField label="From" value={fields.after} onInput={(after) => set({ after })} />
        <TimeField label="Until" value={fields.before} onInput={(before) => set({ before })} />
        <p class="actions">
          <button type="submit" class="main">
            Filter
          </button>
          <button type="button" onClick={clear}>
            Clear
          </button>
        </p>
      </form>
    </details>
  )
}

function TimeField({ label, value, onInput }: { label: string; value: string; onInput: (value: string) => void }) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="datetime-local" value={value} onInput={(event) => onInput(event.currentTarget.value)} />
    </div>
  )
}

function eventsOf(what: string): readonly string[] | undefined {
  if (what === '') return undefined
  return eventKinds.find(({ name }) => name === what)?.events ?? [what]
}

function timeOf(text: string): number | undefined {
  const ms = Date.parse(text)
  return ms >= 0 ? ms : undefined
}
