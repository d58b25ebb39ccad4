/** The root component: opens a session with the ticket or the stored token, then shows the views. */
import { useEffect, useState } from 'preact/hooks'
import { Daemon } from './daemon.js'
import { hasCode } from './errors.js'
import { Layout } from './Layout.js'
import { onInput } from './polling.js'
import * as Session from './session.js'
import { Store, StoreContext } from './store.js'
import { type EndReason, SessionEndedView } from './views/SessionEndedView.js'

type State = { status: 'opening' } | { status: 'open'; store: Store } | { status: 'ended'; reason: EndReason }

export function App() {
  const [state, setState] = useState<State>({ status: 'opening' })

  useEffect(() => {
    let current: Store | undefined
    const end = (reason: EndReason): void => {
      // An expired session cannot release handles; they expire anyway.
      if (reason !== 'expired') void current?.releaseAll()
      current?.closeAll()
      current = undefined
      Session.clearToken()
      setState({ status: 'ended', reason })
    }
    const begin = (token: string): void => {
      void current?.releaseAll()
      const store = new Store({
        daemon: new Daemon({ token, onSessionEnded: () => current === store && end('expired') }),
        onEnd: () => end('closed'),
      })
      current = store
      setState({ status: 'open', store })
      void store.loadLabels()
    }
    const open = async (): Promise<void> => {
      const ticket = Session.takeTicket()
      const stored = Session.storedToken()
      if (ticket === undefined) {
        if (current !== undefined) return
        return stored === undefined ? end('no-link') : begin(stored)
      }
      try {
        begin(await Session.open(ticket))
      } catch (error) {
        if (stored !== undefined && current === undefined) begin(stored)
        if (current !== undefined)
          current.notify('That link no longer works. This session continues.', { isError: true })
        else end(hasCode(error, 'daemon_unreachable') ? 'unreachable' : 'link-expired')
      }
    }
    const onPageHide = (): void => void current?.releaseAll()
    // Opening a link in a tab that already shows the console changes only the fragment.
    const onHashChange = (): void => void open()
    const stopRenewing = onInput(() => current?.renewInUse())
    addEventListener('hashchange', onHashChange)
    addEventListener('pagehide', onPageHide)
    void open()
    return () => {
      stopRenewing()
      removeEventListener('hashchange', onHashChange)
      removeEventListener('pagehide', onPageHide)
    }
  }, [])

  if (state.status === 'opening') return <p class="opening">Opening…</p>
  if (state.status === 'ended') return <SessionEndedView reason={state.reason} />
  return (
    <StoreContext.Provider value={state.store}>
      <Layout key={state.store} />
    </StoreContext.Provider>
  )
}
