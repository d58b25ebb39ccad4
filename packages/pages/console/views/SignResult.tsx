/** The signed transactions, to copy or download. */
import { Bytes } from '@latchkey/algorand'
import { useEffect, useMemo } from 'preact/hooks'
import { CopyButton } from '../components/CopyButton.js'
import { shortAddress } from '../model/shortAddress.js'
import { hrefOf } from '../route.js'

type Props = { signed: readonly Uint8Array[]; ids: readonly string[]; onRestart: () => void }

export function SignResult({ signed, ids, onRestart }: Props) {
  const bytes = useMemo(() => Bytes.concat(signed) as Uint8Array<ArrayBuffer>, [signed])
  const base64 = Bytes.toBase64(bytes)
  const url = useMemo(() => URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' })), [bytes])
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  const name = `${(ids[0] ?? 'transaction').slice(0, 8)}.stxn`
  return (
    <>
      <p class="lede">
        Nothing was sent to the network. Copy this to the program that requested it, or download it and send it with{' '}
        <code>goal clerk rawsend -f {name}</code>.
      </p>
      <div class="field">
        <label for="signed">{signed.length === 1 ? 'Signed transaction, base64' : 'Signed group, base64'}</label>
        <textarea id="signed" rows={6} readOnly value={base64} onFocus={(event) => event.currentTarget.select()} />
      </div>
      <p class="actions after">
        <CopyButton text={base64} what="the signed transaction" isPlain />
        <a class="button" href={url} download={name}>
          Download {name}
        </a>
        <button type="button" class="main" onClick={onRestart}>
          Sign another
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
