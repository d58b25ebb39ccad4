/** The heading of a view. It takes the focus on navigation, so that keyboards and screen readers start there. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

let isFirst = true

export function Heading({ id, children }: { id?: string; children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    if (!isFirst) heading.current?.focus()
    isFirst = false
    document.title = `${heading.current?.textContent ?? ''} – Latchkey console`
  }, [])
  return (
    <h1 id={id} ref={heading} tabIndex={-1}>
      {children}
    </h1>
  )
}
