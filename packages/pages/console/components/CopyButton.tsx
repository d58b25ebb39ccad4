/** Copies a text, and says that it did. */
import { useEffect, useState } from 'preact/hooks'

type Props = { text: string; what: string; label?: string; isPlain?: boolean }

export function CopyButton({ text, what, label = 'Copy', isPlain = false }: Props) {
  const [said, setSaid] = useState('')
  useEffect(() => {
    if (said === '') return
    const timer = window.setTimeout(() => setSaid(''), 2000)
    return () => clearTimeout(timer)
  }, [said])
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setSaid('Copied'),
      () => setSaid('Not allowed'),
    )
  }
  return (
    <button type="button" class={isPlain ? '' : 'quiet'} onClick={copy}>
      <span aria-live="polite">{said === '' ? label : said}</span>
      <span class="unseen"> {what}</span>
    </button>
  )
}
