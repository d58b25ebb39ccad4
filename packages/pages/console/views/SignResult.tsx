/** The signed bytes, to be taken away. */
import { useEffect, useMemo } from 'preact/hooks'
import { CopyButton } from '../components/CopyButton.js'
import { concat, toBase64 } from '../model/bytes.js'
import { shorten } from '../model/signers.js'
import { hrefOf } from '../route.js'

type Props = { signed: readonly Uint8Array[]; ids: readonly string[]; onAgain: () => void }

export function SignResult({ signed, ids, onAgain }: Props) {
  const bytes = useMemo(() => concat(signed), [signed])
  const base64 = toBase64(bytes)
  const url = useMemo(() => URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' })), [bytes])
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  const name = `${(ids[0] ?? 'transaction').slice(0, 8)}.stxn`
  return (
    <>
      <p class="lede">
        Nothing has been sent. Give this to the program that asked for it, or save it and send it with{' '}
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
        <button type="button" class="main" onClick={onAgain}>
          Sign another
        </button>
        <a href={hrefOf({ view: 'payments' })}>See it among the payments</a>
      </p>
      {signed.length > 1 && (
        <details>
          <summary>One by one</summary>
          <ol class="members">
            {signed.map((one, index) => (
              <li key={ids[index]}>
                <code>{shorten(ids[index] ?? '')}</code>{' '}
                <CopyButton text={toBase64(one)} what={`transaction ${index + 1}`} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  )
}
