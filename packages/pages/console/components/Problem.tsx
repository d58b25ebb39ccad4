/** A failure, beside what failed. The element is always there, so that its text is read out when it comes. */
export function Problem({ text }: { text: string | undefined }) {
  return <div role="alert">{text !== undefined && text !== '' && <p class="wrong">{text}</p>}</div>
}
