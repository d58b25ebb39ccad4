/** The frame around the views: network, navigation, notices, and the button that ends the session. */
import { useRef, useState } from 'preact/hooks'
import { Notices } from './components/Notices.js'
import { errorMessage } from './messages.js'
import { usePolling } from './polling.js'
import { hrefOf, type Route, useRoute } from './route.js'
import { useStore } from './store.js'
import { HealthView } from './views/HealthView.js'
import { PaymentsView } from './views/PaymentsView.js'
import { SignView } from './views/SignView.js'
import { WalletsView } from './views/WalletsView.js'

const views: readonly { route: Route; name: string }[] = [
  { route: { view: 'wallets', walletId: undefined }, name: 'Wallets' },
  { route: { view: 'sign' }, name: 'Sign' },
  { route: { view: 'payments' }, name: 'Payments' },
  { route: { view: 'health' }, name: 'Health' },
]

export function Layout() {
  const store = useStore()
  const route = useRoute()
  const main = useRef<HTMLElement>(null)
  const [isEnding, setEnding] = useState(false)
  usePolling(() => store.loadNode(), 10_000, [store])

  const end = async (): Promise<void> => {
    setEnding(true)
    try {
      await store.releaseAll()
      await store.api.close()
      store.onEnd()
    } catch (error) {
      setEnding(false)
      store.notify(errorMessage(error) ?? '', { isError: true })
    }
  }

  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header class="top">
        <p class="brand">
          Latchkey <span>console</span>
        </p>
        <NetworkLabel />
        <button type="button" class="quiet end" disabled={isEnding} onClick={end}>
          End session
        </button>
        <nav aria-label="Sections">
          {views.map(({ route: target, name }) => (
            <a key={name} href={hrefOf(target)} aria-current={target.view === route.view ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
      </header>
      <main id="content" ref={main} tabIndex={-1}>
        <Notices />
        {route.view === 'wallets' && <WalletsView walletId={route.walletId} />}
        {route.view === 'sign' && <SignView />}
        {route.view === 'payments' && <PaymentsView />}
        {route.view === 'health' && <HealthView />}
      </main>
    </>
  )
}

const networks: { [network: string]: string } = {
  mainnet: 'MainNet',
  testnet: 'TestNet',
  betanet: 'BetaNet',
  local: 'Local network',
}

function NetworkLabel() {
  const { node } = useStore()
  if (node === undefined) return <p class="network">…</p>
  if (!node.isSet) return <p class="network off">No node configured</p>
  const name = networks[node.network] ?? node.network
  if (!node.isReachable) return <p class="network off">{node.network === '' ? 'Node' : name} not reachable</p>
  return (
    <p class={`network ${node.network}`}>
      <span class="visually-hidden">Network: </span>
      {name}
      {node.network === 'mainnet' && <span class="extra">: real money</span>}
    </p>
  )
}
