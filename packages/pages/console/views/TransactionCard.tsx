/** One transaction in words, with its warnings, and who signs it. */

import { CopyButton } from '../components/CopyButton.js'
import { Description } from '../components/Description.js'
import { nameOf } from '../model/payments.js'
import { type Choices, firstMembers, shorten, type Way } from '../model/signers.js'
import type { Described } from '../responses.js'

export type Chosen = { id: string; way: Way | undefined; members: readonly string[] }

type Props = {
  transaction: Described
  /** Of a group: which one. */
  place: string
  signers: Choices | undefined
  /** Addresses of the wallet that is to sign. */
  own: ReadonlySet<string>
  chosen: Chosen | undefined
  onChoose: (chosen: Chosen) => void
}

export function TransactionCard({ transaction, place, signers, own, chosen, onChoose }: Props) {
  const [first, ...rest] = transaction.words
  return (
    <article class="transaction" aria-label={`${nameOf(transaction.type)} ${place}`}>
      <header>
        <h2>{nameOf(transaction.type)}</h2>
        <span class="soft">{place}</span>
      </header>
      <Warnings kind="warnings" texts={transaction.finalWarnings} own={own} />
      <Warnings
        kind="cautions"
        texts={transaction.warnings.filter((warning) => !transaction.finalWarnings.includes(warning))}
        own={own}
      />
      <p class="lead">
        <Description text={first ?? ''} own={own} />
      </p>
      <ul class="words">
        {rest.map((line) => (
          <li key={line}>
            <Description text={line} own={own} />
          </li>
        ))}
      </ul>
      <p class="soft small">
        Id <code class="break">{transaction.transactionId}</code>{' '}
        <CopyButton text={transaction.transactionId} what="transaction id" />
      </p>
      {signers !== undefined && <SignerChoice {...{ transaction, signers, chosen, onChoose }} />}
    </article>
  )
}

type WarningsProps = { kind: 'warnings' | 'cautions'; texts: readonly string[]; own: ReadonlySet<string> }

function Warnings({ kind, texts, own }: WarningsProps) {
  if (texts.length === 0) return null
  return (
    <ul class={kind}>
      {texts.map((text) => (
        <li key={text}>
          <Description text={text} own={own} />
        </li>
      ))}
    </ul>
  )
}

type SignerChoiceProps = Pick<Props, 'transaction' | 'chosen' | 'onChoose'> & { signers: Choices }

function SignerChoice({ transaction, signers, chosen, onChoose }: SignerChoiceProps) {
  const id = `signer-${transaction.transactionId}`
  const choose = (wanted: string): void => {
    const way = signers.choices.find((choice) => choice.id === wanted)?.way
    onChoose({ id: wanted, way, members: way?.kind === 'multisig' ? firstMembers(way) : [] })
  }
  return (
    <div class="field signer">
      <label for={id}>Signed by</label>
      <select id={id} value={chosen?.id ?? ''} onChange={(event) => choose(event.currentTarget.value)}>
        {signers.suggested === undefined && <option value="">Choose…</option>}
        {signers.choices.map((choice) => (
          <option key={choice.id} value={choice.id}>
            {choice.label}
          </option>
        ))}
      </select>
      {signers.note !== '' && <p class="hint">{signers.note}</p>}
      {chosen?.way?.kind === 'multisig' && <MemberChoice way={chosen.way} chosen={chosen} onChoose={onChoose} />}
    </div>
  )
}

type MemberChoiceProps = {
  way: Extract<Way, { kind: 'multisig' }>
  chosen: Chosen
  onChoose: (chosen: Chosen) => void
}

function MemberChoice({ way, chosen, onChoose }: MemberChoiceProps) {
  const signed = way.soFar.slots.filter(({ signature }) => signature !== undefined).length
  const toggle = (member: string): void => {
    const members = chosen.members.includes(member)
      ? chosen.members.filter((other) => other !== member)
      : [...chosen.members, member]
    onChoose({ ...chosen, members })
  }
  const total = signed + chosen.members.length
  return (
    <fieldset>
      <legend>Members in this wallet</legend>
      {way.members.length === 0 && <p class="hint">None of its members' keys is in this wallet.</p>}
      {way.members.map(({ address, hasSigned }) => (
        <label class="check" key={address}>
          <input
            type="checkbox"
            checked={hasSigned || chosen.members.includes(address)}
            disabled={hasSigned}
            onChange={() => toggle(address)}
          />
          <span>
            <code title={address}>{shorten(address)}</code>
            {hasSigned && ' has signed'}
          </span>
        </label>
      ))}
      <p class="hint" aria-live="polite">
        {total >= way.soFar.threshold
          ? `With ${total} of ${way.soFar.threshold} signatures it is complete.`
          : `With ${total} of ${way.soFar.threshold} signatures it is not complete: others have to add theirs.`}
      </p>
    </fieldset>
  )
}
