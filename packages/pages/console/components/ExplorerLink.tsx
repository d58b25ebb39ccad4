/** A link to the block explorer on a public network; plain text on any other network. */
import { Explorer } from '@latchkey/algorand'
import type { ComponentChildren } from 'preact'
import { useStore } from '../store.js'

export type ExplorerLinkProps = {
  kind: 'transaction' | 'account' | 'asset'
  id: string
  children: ComponentChildren
  /** @default the text is shown even without a link */
  isHiddenWithout?: boolean
}

const tab = { target: '_blank', rel: 'noopener noreferrer' } as const

export function ExplorerLink({ kind, id, children, isHiddenWithout = false }: ExplorerLinkProps) {
  const url = explorerUrl(useStore().node?.network ?? '', kind, id)
  if (url === undefined) return isHiddenWithout ? null : children
  return (
    <a class="explore" href={url} {...tab}>
      {children}
    </a>
  )
}

function explorerUrl(network: string, kind: ExplorerLinkProps['kind'], id: string): string | undefined {
  if (kind === 'transaction') return Explorer.transactionUrl(network, id)
  if (kind === 'account') return Explorer.accountUrl(network, id)
  return /^\d{1,20}$/.test(id) ? Explorer.assetUrl(network, BigInt(id)) : undefined
}
