/** Elements, whose text is always text. */
type Attributes = { readonly [name: string]: string | undefined }

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value)
  element.append(...children)
  return element
}

/** One of the places that the seller's page has for us. */
export function place(name: string): HTMLElement {
  return document.querySelector<HTMLElement>(`[data-${name}]`)!
}

export function button(label: string, kind: 'main' | 'plain' | 'link', onClick: () => unknown): HTMLButtonElement {
  const element = h('button', { type: 'button', class: kind }, label)
  element.addEventListener('click', () => void onClick())
  return element
}
