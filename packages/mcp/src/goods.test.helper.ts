/** The tool that tests sell. Apart from the market, because a seller in its own process needs no devnet. */
export const dollar = 31566704n
export const cent = 10_000n
export const price = '$0.01'

export function text(content: string): { content: [{ type: 'text'; text: string }] } {
  return { content: [{ type: 'text', text: content }] }
}
