/** One entry of the signature log: a transaction with its status, or a program. */
import { ShortAddress } from '../components/AddressText.js'
import { CopyButton } from '../components/CopyButton.js'
import { Description } from '../components/Description.js'
import { ExplorerLink } from '../components/ExplorerLink.js'
import { scrollTo } from '../components/scrollTo.js'
import { formatAlgos, formatMoney } from '../model/amount.js'
import { typeName } from '../model/payments.js'
import { safeName } from '../model/safeName.js'
import { shortAddress } from '../model/shortAddress.js'
import { formatTime } from '../model/time.js'
import type { SignatureEntry, TransactionStatus } from '../responseTypes.js'
import { useStore } from '../store.js'

export function idOf({ transactionId, program }: SignatureEntry): string {
  return program === '' ? transactionId : program
}

type RowProps = {
  entry: SignatureEntry
  /** Whether it is a search result. */
  isFound: boolean
}

export function PaymentRow({ entry, status, isFound }: RowProps & { status: TransactionStatus | undefined }) {
  const { dollarIds } = useStore()
  const hasAmount = entry.amount !== '0' || entry.type === 'pay'
  return (
    <li class={isFound ? 'found' : undefined} ref={isFound ? scrollTo : null}>
      <time dateTime={new Date(entry.atMs).toISOString()}>{formatTime(entry.atMs)}</time>
      <div class="what">
        <p>
          <b class="amount">{hasAmount ? formatMoney(entry.amount, entry, dollarIds) : typeName(entry.type)}</b>
          {entry.receiver !== '' && (
            <>
              {' to '}
              <ShortAddress address={entry.receiver} />
            </>
          )}
        </p>
        <p class="soft small">
          {hasAmount && `${typeName(entry.type)}, `}from <ShortAddress address={entry.sender} />, wallet{' '}
          <span class="name">{safeName(entry.walletName)}</span>
          {entry.isMultisig && ', one multisig signature'}, fee {formatAlgos(entry.feeMicroAlgos)}
        </p>
        <Warnings entry={entry} />
      </div>
      <div class="status">
        <StatusText status={status} />
        <CopyButton text={entry.transactionId} what={shortAddress(entry.transactionId)} label="Copy ID" />
        {status?.state === 'confirmed' && (
          <ExplorerLink kind="transaction" id={entry.transactionId} isHiddenWithout>
            Explorer<span class="visually-hidden"> page of {shortAddress(entry.transactionId)}</span>
          </ExplorerLink>
        )}
      </div>
    </li>
  )
}

/** Signing a program has no immediate effect. It has no amount and no status, only what it permits from now on. */
export function ProgramRow({ entry, isFound }: RowProps) {
  return (
    <li class={isFound ? 'found' : undefined} ref={isFound ? scrollTo : null}>
      <time dateTime={new Date(entry.atMs).toISOString()}>{formatTime(entry.atMs)}</time>
      <div class="what">
        <p>
          <b class="amount">{typeName(entry.type)}</b> <code title={entry.program}>{shortAddress(entry.program)}</code>
        </p>
        <p class="soft small">
          may sign for <ShortAddress address={entry.sender} />, wallet {safeName(entry.walletName)}
          {entry.isMultisig && ', one multisig signature'}
        </p>
        <Warnings entry={entry} />
      </div>
      <div class="status">
        <CopyButton text={entry.program} what={shortAddress(entry.program)} label="Copy address" />
      </div>
    </li>
  )
}

function Warnings({ entry }: { entry: SignatureEntry }) {
  return entry.warnings.map((warning) => (
    <p class="error small" key={warning}>
      <Description text={warning} isShort />
    </p>
  ))
}

function StatusText({ status }: { status: TransactionStatus | undefined }) {
  if (status?.state === 'confirmed') {
    return <span class="status-good">confirmed in round {status.round.toLocaleString('en')}</span>
  }
  return <span class="status-open">{status?.state === 'pending' ? 'pending' : 'not found on the network'}</span>
}
