/** One transaction: its effects, its warnings, and the choice of its signer. */
import { CopyButton } from '../components/CopyButton.js'
import { Description } from '../components/Description.js'
import { typeName } from '../model/payments.js'
import { shortAddress } from '../model/shortAddress.js'
import {
  type MultisigMethod,
  type SelectedSigner,
  type SignerOptions,
  selectSigner,
  signatureCount,
} from '../model/signerOptions.js'
import type { TransactionDescription } from '../responseTypes.js'

type Props = {
  description: TransactionDescription
  /** The position in a group; empty for a single transaction. */
  position: string
  signers: SignerOptions | undefined
  /** Addresses of the unlocked wallets. */
  own: ReadonlySet<string>
  selected: SelectedSigner | undefined
  onSelect: (selected: SelectedSigner) => void
}

export function TransactionCard({ description, position, signers, own, selected, onSelect }: Props) {
  const { type, transactionId, words, warnings, finalWarnings } = description
  const [first, ...rest] = words
  return (
    <article class="transaction" aria-label={`${typeName(type)} ${position}`}>
      <header>
        <h2>{typeName(type)}</h2>
        <span class="soft">{position}</span>
      </header>
      <Warnings kind="warnings" texts={finalWarnings} own={own} />
      <Warnings kind="cautions" texts={warnings.filter((warning) => !finalWarnings.includes(warning))} own={own} />
      <p class="lead">
        <Description text={first ?? ''} own={own} />
      </p>
      <ul class="effects">
        {rest.map((line) => (
          <li key={line}>
            <Description text={line} own={own} />
          </li>
        ))}
      </ul>
      <p class="soft small">
        ID <code class="break">{transactionId}</code> <CopyButton text={transactionId} what="transaction ID" />
      </p>
      {signers !== undefined && <SignerSelect {...{ transactionId, signers, selected, onSelect }} />}
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

type SignerSelectProps = Pick<Props, 'selected' | 'onSelect'> & { transactionId: string; signers: SignerOptions }

function SignerSelect({ transactionId, signers, selected, onSelect }: SignerSelectProps) {
  const id = `signer-${transactionId}`
  return (
    <div class="field signer">
      <label for={id}>Signed by</label>
      <select
        id={id}
        value={selected?.id ?? ''}
        onChange={(event) => onSelect(selectSigner(signers, event.currentTarget.value))}
      >
        {signers.suggestedId === undefined && <option value="">Select…</option>}
        {signers.options.map((option) => (
          <option key={option.id} value={option.id}>
            {option.label}
          </option>
        ))}
      </select>
      {signers.note !== '' && <p class="hint">{signers.note}</p>}
      {selected?.method?.kind === 'multisig' && (
        <MemberSelect method={selected.method} selected={selected} onSelect={onSelect} />
      )}
    </div>
  )
}

type MemberSelectProps = {
  method: MultisigMethod
  selected: SelectedSigner
  onSelect: (selected: SelectedSigner) => void
}

function MemberSelect({ method, selected, onSelect }: MemberSelectProps) {
  const { thr: threshold } = method.partial
  const toggle = (member: string): void => {
    const members = selected.members.includes(member)
      ? selected.members.filter((other) => other !== member)
      : [...selected.members, member]
    onSelect({ ...selected, members })
  }
  const total = signatureCount(method.partial) + selected.members.length
  return (
    <fieldset>
      <legend>Members in this wallet</legend>
      {method.members.length === 0 && <p class="hint">This wallet has no member’s key.</p>}
      {method.members.map(({ address, hasSigned }) => (
        <label class="check" key={address}>
          <input
            type="checkbox"
            checked={hasSigned || selected.members.includes(address)}
            disabled={hasSigned}
            onChange={() => toggle(address)}
          />
          <span>
            <code title={address}>{shortAddress(address)}</code>
            {hasSigned && ' has signed'}
          </span>
        </label>
      ))}
      <p class="hint" aria-live="polite">
        {total >= threshold
          ? `Complete: ${total} of ${threshold} required signatures.`
          : `Incomplete: ${total} of ${threshold} required signatures. Other members have to sign.`}
      </p>
    </fieldset>
  )
}
