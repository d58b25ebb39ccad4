/** Copies a text and confirms it on the button. */
import { useEffect, useState } from 'preact/hooks'

type Props = { text: string; what: string; label?: string; isPlain?: boolean }

export function CopyButton({ text, what, label = 'Copy', isPlain = false }: Props) {
  const [feedback, setFeedback] = useState('')
  useEffect(() => {
    if (feedback === '') return
    const timer = window.setTimeout(() => setFeedback(''), 2000)
    return () => clearTimeout(timer)
  }, [feedback])
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setFeedback('Copied'),
      () => setFeedback('Not permitted'),
    )
  }
  return (
    <button type="button" class={isPlain ? '' : 'quiet'} onClick={copy}>
      <span aria-live="polite">{feedback === '' ? label : feedback}</span>
      <span class="visually-hidden"> {what}</span>
    </button>
  )
}
