/** The page: from the ticket to a session, and in a session the views. */
import { useEffect, useState } from 'preact/hooks'
import { Api } from './api.js'
import { Frame } from './Frame.js'
import * as Session from './session.js'
import { Store, StoreContext } from './store.js'
import { type End, EndedView } from './views/EndedView.js'
import { UnreachableError } from './wire.js'

type State = { at: 'opening' } | { at: 'open'; store: Store } | { at: 'ended'; end: End }

export function App() {
  const [state, setState] = useState<State>({ at: 'opening' })

  useEffect(() => {
    let current: Store | undefined
    const end = (why: End): void => {
      // A session that is over can end no handles: they end by themselves.
      if (why !== 'lost') void current?.releaseAll()
      current?.forgetAll()
      current = undefined
      Session.forget()
      setState({ at: 'ended', end: why })
    }
    const begin = (token: string): void => {
      void current?.releaseAll()
      const store = new Store({
        api: new Api({ token, onLost: () => current === store && end('lost') }),
        onEnd: () => end('closed'),
      })
      current = store
      setState({ at: 'open', store })
    }
    const open = async (): Promise<void> => {
      const ticket = Session.takeTicket()
      const kept = Session.kept()
      if (ticket === undefined) {
        if (current !== undefined) return
        return kept === undefined ? end('none') : begin(kept)
      }
      try {
        begin(await Session.open(ticket))
      } catch (error) {
        if (kept !== undefined && current === undefined) begin(kept)
        if (current !== undefined) current.tell('That link no longer works. This session goes on.', { isProblem: true })
        else end(error instanceof UnreachableError ? 'unreachable' : 'used')
      }
    }
    const onLeave = (): void => void current?.releaseAll()
    // A link opened in a tab that has the console already changes only what is after the #.
    const onHash = (): void => void open()
    addEventListener('hashchange', onHash)
    addEventListener('pagehide', onLeave)
    void open()
    return () => {
      removeEventListener('hashchange', onHash)
      removeEventListener('pagehide', onLeave)
    }
  }, [])

  if (state.at === 'opening') return <p class="opening">Opening…</p>
  if (state.at === 'ended') return <EndedView end={state.end} />
  return (
    <StoreContext.Provider value={state.store}>
      <Frame key={state.store} />
    </StoreContext.Provider>
  )
}
