/** One record of the audit log. Untrusted content is shown as plain text and marked as a claim. */
import type { AuditRecord } from '../audit.js'
import { actorText, claims, detailLines, eventTitle, isWarning, summary } from '../model/auditWords.js'
import { safeName } from '../model/safeName.js'
import { formatTime } from '../model/time.js'
import { useStore } from '../store.js'
import { Claim } from './Claim.js'
import { Description } from './Description.js'

export function AuditRow({ record }: { record: AuditRecord }) {
  const { node } = useStore()
  const { number, atMs, address, wallet, walletName, transaction } = record
  const about = summary(record, { node })
  const said = claims(record)
  return (
    <li>
      <time dateTime={isoOf(atMs)}>{formatTime(atMs)}</time>
      <div class="what">
        <p>
          <b class={isWarning(record) ? 'warned' : undefined}>{eventTitle(record.event)}</b>
          {about !== '' && (
            <>
              {' '}
              <Description text={about} isShort />
            </>
          )}
        </p>
        <p class="soft small">
          by {actorText(record)}
          {wallet !== '' && `, wallet ${walletName === '' ? wallet : safeName(walletName)}`}
          {address !== '' && (
            <>
              {', '}
              <Description text={address} isShort />
            </>
          )}
        </p>
        <Claim texts={said} />
        <details>
          <summary>
            Record {number}
            <span class="visually-hidden">: all of it</span>
          </summary>
          <dl class="facts compact">
            {transaction !== '' && <Fact name="transaction" value={transaction} />}
            {detailLines(record).map(({ name, value, isClaim }) => (
              <Fact key={name} name={isClaim ? `${name} (not checked)` : name} value={value} />
            ))}
            <Fact name="hash" value={record.hash} />
            <Fact name="previous" value={record.previous} />
          </dl>
        </details>
      </div>
    </li>
  )
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <code class="break">{value}</code>
      </dd>
    </div>
  )
}

/** An impossible time is shown, but without a time element. */
function isoOf(atMs: number): string | undefined {
  return Math.abs(atMs) <= 8.64e15 ? new Date(atMs).toISOString() : undefined
}
