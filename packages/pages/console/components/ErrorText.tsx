/**
 * An error next to the action that failed. The live region is always present, so that screen readers announce the text.
 */
export function ErrorText({ text }: { text: string | undefined }) {
  return <div role="alert">{text !== undefined && text !== '' && <p class="error">{text}</p>}</div>
}
