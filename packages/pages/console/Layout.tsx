/** The frame around the views: network, navigation, notices, and the button that ends the session. */
import { consoleOperations } from '@latchkey/kmd-api/operations'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Search } from './components/Search.js'
import { errorMessage } from './messages.js'
import { networkTitle } from './model/network.js'
import { usePolling } from './polling.js'
import { hrefOf, type Route, useRoute } from './route.js'
import { isUnder, type Section, sectionOf, sections } from './sections.js'
import { type Store, useStore } from './store.js'
import {
  ActivityView,
  AddressBookView,
  AgentsView,
  AgentView,
  ApprovalsView,
  NewAgentView,
  OptInView,
  PaymentsView,
  preloadAll,
  ReceiveView,
  SendView,
  SettingsView,
  SignView,
  SpendingView,
  WalletsView,
} from './views/lazy.js'
import { OverviewView } from './views/OverviewView.js'

/** Leaves time for the first view to load its data. */
const preloadDelayMs = 1_000

export function Layout() {
  const store = useStore()
  const route = useRoute()
  const main = useRef<HTMLElement>(null)
  const [isEnding, setEnding] = useState(false)
  usePolling(() => store.loadNode(), 10_000, [store])
  usePolling(() => store.keepDevelopmentWalletOpen(), 2_000, [store, store.wallets, store.node?.hasFaucet])
  useApprovalsWatch(store)
  useEffect(() => {
    // A view that fails to load shows the error when it is opened.
    const timer = setTimeout(() => preloadAll().catch(() => {}), preloadDelayMs)
    return () => clearTimeout(timer)
  }, [])
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
        <Navigation route={route}>
          <button type="button" class="quiet end" disabled={isEnding} onClick={end}>
            End session
          </button>
        </Navigation>
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
        {route.view === 'spending' && <SpendingView key={route.agentId} agentId={route.agentId} />}
        {route.view === 'settings' && <SettingsView />}
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

/** The sections, behind a menu button on a phone, and the views of the current section. */
function Navigation({ route, children }: { route: Route; children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const section = sectionOf(route)
  const href = hrefOf(route)
  useEffect(() => setOpen(false), [href])
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !isOpen) return
    setOpen(false)
    button.current?.focus()
  }
  return (
    <>
      <button
        type="button"
        class="menu-button"
        ref={button}
        aria-expanded={isOpen}
        aria-controls="sections"
        onClick={() => setOpen(!isOpen)}
        onKeyDown={onKeyDown}
      >
        Menu
        <OpenCount />
      </button>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the key closes the menu from any of its links */}
      <div id="sections" class={isOpen ? 'menu open' : 'menu'} onKeyDown={onKeyDown}>
        <nav aria-label="Sections" class="sections">
          {sections.map((one) => (
            <a key={one.name} href={hrefOf(one.views[0]!.route)} aria-current={one === section ? 'page' : undefined}>
              {one.name}
              {one.name === 'Agents' && <OpenCount />}
            </a>
          ))}
        </nav>
        {children}
      </div>
      {section.views.length > 1 && <Views section={section} route={route} />}
    </>
  )
}

function Views({ section, route }: { section: Section; route: Route }) {
  return (
    <nav aria-label={section.name} class="views">
      {section.views.map((one) => (
        <a
          key={one.name}
          href={hrefOf(one.route)}
          aria-current={isUnder(route, one) ? (hrefOf(one.route) === hrefOf(route) ? 'page' : 'true') : undefined}
        >
          {one.name}
          {one.route.view === 'approvals' && <OpenCount />}
        </a>
      ))}
    </nav>
  )
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

/** Notices about background events. Screen readers announce them; they stay until dismissed. */
function Notices() {
  const store = useStore()
  return (
    <div class="notices" role="status" aria-live="polite">
      {store.notices.map(({ id, isError, text }) => (
        <p key={id} class={isError ? 'notice error' : 'notice'}>
          <span>{text}</span>
          <button type="button" class="quiet" onClick={() => store.dismiss(id)}>
            Dismiss
          </button>
        </p>
      ))}
    </div>
  )
}
