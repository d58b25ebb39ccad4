/** Creates and finds elements. Strings always become text nodes, never HTML. */
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

/** The element that the server marked with `data-<name>`. */
export function slot(name: string): HTMLElement {
  return document.querySelector<HTMLElement>(`[data-${name}]`)!
}

export function button(label: string, kind: 'main' | 'plain' | 'link', onClick: () => unknown): HTMLButtonElement {
  const element = h('button', { type: 'button', class: kind }, label)
  element.addEventListener('click', () => void onClick())
  return element
}
