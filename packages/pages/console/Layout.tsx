/** The frame around the views: network, navigation, notices, and the button that ends the session. */
import { consoleOperations } from '@latchkey/kmd-api/operations'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Notices } from './components/Notices.js'
import { Search } from './components/Search.js'
import { errorMessage } from './messages.js'
import { networkTitle } from './model/network.js'
import { usePolling } from './polling.js'
import { hrefOf, type Route, useRoute } from './route.js'
import { type Store, useStore } from './store.js'
import {
  ActivityView,
  AddressBookView,
  AgentsView,
  AgentView,
  ApprovalsView,
  HealthView,
  NewAgentView,
  OptInView,
  PaymentsView,
  preloadAll,
  ReceiveView,
  SendView,
  SignView,
  WalletsView,
} from './views/lazy.js'
import { OverviewView } from './views/OverviewView.js'

const views: readonly { route: Route; name: string }[] = [
  { route: { view: 'overview' }, name: 'Overview' },
  { route: { view: 'wallets', walletId: undefined }, name: 'Wallets' },
  { route: { view: 'send', address: undefined, assetId: undefined }, name: 'Send' },
  { route: { view: 'receive', address: undefined, assetId: undefined }, name: 'Receive' },
  { route: { view: 'sign' }, name: 'Sign' },
  { route: { view: 'payments' }, name: 'Payments' },
  { route: { view: 'agents' }, name: 'Agents' },
  { route: { view: 'approvals' }, name: 'Approvals' },
  { route: { view: 'activity' }, name: 'Activity' },
  { route: { view: 'addresses' }, name: 'Address book' },
  { route: { view: 'health' }, name: 'Health' },
]

/** Leaves time for the first view to load its data. */
const preloadDelayMs = 1_000

export function Layout() {
  const store = useStore()
  const route = useRoute()
  const main = useRef<HTMLElement>(null)
  const [isEnding, setEnding] = useState(false)
  const nav = useRef<HTMLElement>(null)
  usePolling(() => store.loadNode(), 10_000, [store])
  useApprovalsWatch(store)
  useEffect(() => {
    // A view that fails to load shows the error when it is opened.
    const timer = setTimeout(() => preloadAll().catch(() => {}), preloadDelayMs)
    return () => clearTimeout(timer)
  }, [])
  // On a phone the sections do not fit side by side.
  useLayoutEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [route.view])

  const end = async (): Promise<void> => {
    setEnding(true)
    try {
      await store.releaseAll()
      await store.daemon.call(consoleOperations.CloseConsole)
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
        <Search />
        <button type="button" class="quiet end" disabled={isEnding} onClick={end}>
          End session
        </button>
        <nav aria-label="Sections" ref={nav}>
          {views.map(({ route: target, name }) => (
            <a key={name} href={hrefOf(target)} aria-current={target.view === sectionOf(route) ? 'page' : undefined}>
              {name}
              {target.view === 'approvals' && <OpenCount />}
            </a>
          ))}
        </nav>
      </header>
      <main id="content" ref={main} tabIndex={-1}>
        <Notices />
        <OpenApprovals />
        {route.view === 'overview' && <OverviewView />}
        {route.view === 'wallets' && <WalletsView walletId={route.walletId} address={route.address} />}
        {route.view === 'send' && <SendView key={hrefOf(route)} {...route} />}
        {route.view === 'receive' && <ReceiveView key={hrefOf(route)} {...route} />}
        {route.view === 'opt-in' && <OptInView key={hrefOf(route)} {...route} />}
        {route.view === 'sign' && <SignView />}
        {route.view === 'payments' && <PaymentsView transactionId={route.transactionId} />}
        {route.view === 'agents' &&
          (route.agentId === undefined ? <AgentsView /> : <AgentView key={route.agentId} agentId={route.agentId} />)}
        {route.view === 'new-agent' && <NewAgentView />}
        {route.view === 'approvals' && <ApprovalsView />}
        {route.view === 'activity' && <ActivityView key={route.agentId} agentId={route.agentId} />}
        {route.view === 'addresses' && <AddressBookView address={route.address} />}
        {route.view === 'health' && <HealthView />}
      </main>
    </>
  )
}

/**
 * Not part of the first screen. If the watch fails, the page shows no approval count; the approvals view shows the
 * error.
 */
function useApprovalsWatch(store: Store): void {
  useEffect(() => {
    let isShown = true
    let stop = (): void => {}
    import('./approvalsWatch.js').then(
      ({ watchApprovals }) => {
        if (isShown) stop = watchApprovals(store)
      },
      () => {},
    )
    return () => {
      isShown = false
      stop()
    }
  }, [store])
}

function sectionOf({ view }: Route): Route['view'] {
  return view === 'new-agent' ? 'agents' : view
}

/** The number of waiting approvals. */
function OpenCount() {
  const count = useStore().openApprovals?.length ?? 0
  if (count === 0) return null
  return (
    <>
      {' '}
      <span class="badge">
        {count}
        <span class="visually-hidden"> waiting</span>
      </span>
    </>
  )
}

/** Announces waiting approvals in every view. */
function OpenApprovals() {
  const count = useStore().openApprovals?.length ?? 0
  return (
    <p class="visually-hidden" role="status">
      {count > 0 && (count === 1 ? 'One approval is waiting for you.' : `${count} approvals are waiting for you.`)}
    </p>
  )
}

function NetworkLabel() {
  const { node } = useStore()
  if (node === undefined) return <p class="network">…</p>
  if (!node.isSet) return <p class="network off">No node configured</p>
  const name = networkTitle(node.network)
  if (!node.isReachable) return <p class="network off">{node.network === '' ? 'Node' : name} not reachable</p>
  return (
    <p class={`network ${node.network}`}>
      <span class="visually-hidden">Network: </span>
      {name}
      {node.network === 'mainnet' && <span class="extra">: real money</span>}
    </p>
  )
}
