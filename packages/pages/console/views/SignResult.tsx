/** The signed transactions, with buttons to submit, copy or download them. */
import { Bytes } from '@latchkey/algorand'
import { useEffect, useMemo } from 'preact/hooks'
import { CopyButton } from '../components/CopyButton.js'
import { Description } from '../components/Description.js'
import { shortAddress } from '../model/shortAddress.js'
import { isComplete } from '../model/signedTransaction.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'
import { SubmitPanel } from './SubmitPanel.js'

type Props = {
  signed: readonly Uint8Array[]
  ids: readonly string[]
  /** The effect of each transaction, as a sentence. */
  lines: readonly string[]
  again?: string
  onRestart: () => void
}

export function SignResult({ signed, ids, lines, again = 'Sign another', onRestart }: Props) {
  const { node } = useStore()
  const bytes = useMemo(() => Bytes.concat(signed) as Uint8Array<ArrayBuffer>, [signed])
  const base64 = Bytes.toBase64(bytes)
  const url = useMemo(() => URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' })), [bytes])
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  const name = `${(ids[0] ?? 'transaction').slice(0, 8)}.stxn`
  const isDone = isComplete(signed)
  return (
    <>
      <ul class="lead">
        {lines.map((line, index) => (
          <li key={ids[index]}>
            <Description text={line} />
          </li>
        ))}
      </ul>
      {!isDone && (
        <p class="aside">
          <b>Signatures are missing.</b> Pass it on to the next signer. It can be submitted once all required signatures
          are there.
        </p>
      )}
      {isDone && node?.isSet === false && (
        <p class="aside">
          <b>Nothing was sent to the network.</b> The daemon has no node: start it with --node URL, or pass on the
          signed bytes.
        </p>
      )}
      {isDone && node?.isSet === true && <SubmitPanel signed={signed} isAutomatic={false} />}
      <div class="section-head">
        <h2>Pass it on</h2>
      </div>
      <p class="lede soft">
        Copy it to the program that requested it, or submit it from another machine with{' '}
        <code>goal clerk rawsend -f {name}</code>.
      </p>
      <div class="field">
        <label for="signed">{signed.length === 1 ? 'Signed transaction, base64' : 'Signed group, base64'}</label>
        <textarea id="signed" rows={4} readOnly value={base64} onFocus={(event) => event.currentTarget.select()} />
      </div>
      <p class="actions after">
        <CopyButton text={base64} what="the signed transaction" isPlain />
        <a class="button" href={url} download={name}>
          Download {name}
        </a>
        <button type="button" onClick={onRestart}>
          {again}
        </button>
        <a href={hrefOf({ view: 'payments' })}>View in Payments</a>
      </p>
      {signed.length > 1 && (
        <details>
          <summary>Individual transactions</summary>
          <ol class="members">
            {signed.map((one, index) => (
              <li key={ids[index]}>
                <code>{shortAddress(ids[index] ?? '')}</code>{' '}
                <CopyButton text={Bytes.toBase64(one)} what={`transaction ${index + 1}`} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  )
}
