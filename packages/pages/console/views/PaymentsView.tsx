/** What the daemon signs, as it happens, and what became of it. */
import { useState } from 'preact/hooks'
import { mostFound } from '../api.js'
import { Chart } from '../components/Chart.js'
import { CopyButton } from '../components/CopyButton.js'
import { Description } from '../components/Description.js'
import { Heading } from '../components/Heading.js'
import { Problem } from '../components/Problem.js'
import { format, formatAlgo, unitOf } from '../model/amounts.js'
import { nameOf } from '../model/payments.js'
import { shorten } from '../model/signers.js'
import { formatMoment } from '../model/time.js'
import { usePolling } from '../polling.js'
import type { Sighting, Signing } from '../responses.js'
import { messageOf, useStore } from '../store.js'

const pollMs = 2_000
const pageLength = 50

export function PaymentsView() {
  const store = useStore()
  const { payments } = store
  const [problem, setProblem] = useState<string>()
  const [stateProblem, setStateProblem] = useState<string>()
  const [assetId, setAssetId] = useState<string>()
  const [shownCount, setShownCount] = useState(pageLength)
  usePolling(
    async () => {
      try {
        const { sinceMs, signings } = await store.api.signings(payments.lastNumber)
        payments.add(sinceMs, signings)
        setProblem(undefined)
      } catch (error) {
        setProblem(messageOf(error))
      }
      store.changed()
      const due = payments.due(Date.now(), mostFound)
      if (due.length === 0) return
      try {
        if (!(await store.hasNode())) return setStateProblem(messageOf(store.node?.message))
        payments.see(await store.api.find(due))
        setStateProblem(undefined)
      } catch (error) {
        setStateProblem(messageOf(error))
      }
      store.changed()
    },
    pollMs,
    [store],
  )

  const spending = payments.spending()
  const shown = spending.find((one) => one.assetId === assetId) ?? spending[0]
  const signings = payments.newestFirst
  return (
    <section aria-labelledby="payments-title">
      <Heading id="payments-title">Payments</Heading>
      <p class="soft lede">
        What this daemon signed{payments.sinceMs > 0 && ` since it started at ${formatMoment(payments.sinceMs)}`}. It
        keeps the last 1,000 in memory.
      </p>
      <Problem text={problem} />
      {stateProblem !== undefined && (
        <p class="aside">
          <b>What became of them is not known.</b> {stateProblem}
        </p>
      )}
      {shown !== undefined && (
        <>
          <div class="section-head">
            <h2>Spending</h2>
            <label class="inline">
              <span class="unseen">Asset</span>
              <select value={shown.assetId} onChange={(event) => setAssetId(event.currentTarget.value)}>
                {spending.map((one) => (
                  <option key={one.assetId} value={one.assetId}>
                    {unitOf(one)}
                  </option>
                ))}
              </select>
            </label>
          </div>
          <Chart spending={shown} nowMs={Date.now()} />
        </>
      )}
      <h2>Signed</h2>
      {signings.length === 0 && payments.sinceMs > 0 && <p class="empty">Nothing has been signed yet.</p>}
      <ol class="rows payments" aria-label="Signed transactions, newest first">
        {signings.slice(0, shownCount).map((signing) => (
          <PaymentRow key={signing.number} signing={signing} sighting={payments.sighting(signing.transactionId)} />
        ))}
      </ol>
      {signings.length > shownCount && (
        <button type="button" onClick={() => setShownCount(shownCount + pageLength)}>
          Show older ones
        </button>
      )}
    </section>
  )
}

function PaymentRow({ signing, sighting }: { signing: Signing; sighting: Sighting | undefined }) {
  const hasAmount = signing.amount !== '0' || signing.type === 'pay'
  return (
    <li>
      <time dateTime={new Date(signing.atMs).toISOString()}>{formatMoment(signing.atMs)}</time>
      <div class="what">
        <p>
          <b class="amount">
            {hasAmount ? `${format(signing.amount, signing.decimals)} ${unitOf(signing)}` : nameOf(signing.type)}
          </b>
          {signing.receiver !== '' && (
            <>
              {' to '}
              <code title={signing.receiver}>{shorten(signing.receiver)}</code>
            </>
          )}
        </p>
        <p class="soft small">
          {hasAmount && `${nameOf(signing.type)}, `}from <code title={signing.sender}>{shorten(signing.sender)}</code>,
          wallet {signing.walletName}
          {signing.isMultisig && ', one signature of a multisig'}, fee {formatAlgo(signing.feeMicroAlgos)}
        </p>
        {signing.warnings.map((warning) => (
          <p class="wrong small" key={warning}>
            <Description text={warning} isShort />
          </p>
        ))}
      </div>
      <div class="state">
        <StateMark sighting={sighting} />
        <CopyButton text={signing.transactionId} what={shorten(signing.transactionId)} label="Copy id" />
      </div>
    </li>
  )
}

function StateMark({ sighting }: { sighting: Sighting | undefined }) {
  if (sighting?.state === 'confirmed') {
    return <span class="mark-good">settled in round {sighting.round.toLocaleString('en')}</span>
  }
  return <span class="mark-open">{sighting?.state === 'pending' ? 'waiting for a block' : 'not seen yet'}</span>
}
