/** A caller's claim. It is unverified plain text, and no address in it becomes a link. */
export function Claim({ texts }: { texts: readonly string[] }) {
  const said = texts.filter((text) => text !== '')
  if (said.length === 0) return null
  return (
    <figure class="claim">
      <figcaption>The agent says (not checked):</figcaption>
      {said.map((text) => (
        <blockquote key={text}>
          <bdi>{text}</bdi>
        </blockquote>
      ))}
    </figure>
  )
}
