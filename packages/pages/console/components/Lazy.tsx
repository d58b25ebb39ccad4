/** Components in separate files, loaded when they are first shown or while the page is idle. */
import type { ComponentType, FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Dialog } from './Dialog.js'
import { Heading } from './Heading.js'

/** A component whose code may be loaded before it is shown. */
export type LazyComponent<Props> = FunctionComponent<Props> & { readonly preload: () => Promise<void> }

type State = 'loading' | 'loaded' | 'failed'

type Loader<Props> = () => Promise<ComponentType<Props>>

/** A view. */
export function lazyView<Props extends object>(load: Loader<Props>): LazyComponent<Props> {
  const { preload, useLoaded } = loading(load)
  const View: FunctionComponent<Props> = (props) => {
    const { state, Component } = useLoaded()
    if (Component !== undefined) return <Component {...props} />
    if (state === 'loading') return <p class="empty">Loading…</p>
    return (
      <section>
        <Heading>{failure}</Heading>
        <Failure />
      </section>
    )
  }
  return Object.assign(View, { preload })
}

/** A dialog. */
export function lazyDialog<Props extends { onClose: () => void }>(load: Loader<Props>): LazyComponent<Props> {
  const { preload, useLoaded } = loading(load)
  const LoadedDialog: FunctionComponent<Props> = (props) => {
    const { state, Component } = useLoaded()
    if (Component !== undefined) return <Component {...props} />
    if (state === 'loading') return null
    return (
      <Dialog title={failure} onClose={props.onClose}>
        <Failure />
      </Dialog>
    )
  }
  return Object.assign(LoadedDialog, { preload })
}

/** A part of a view that shows nothing until it is loaded. */
export function lazyPart<Props extends object>(load: Loader<Props>): LazyComponent<Props> {
  const { preload, useLoaded } = loading(load)
  const Part: FunctionComponent<Props> = (props) => {
    const { state, Component } = useLoaded()
    if (Component !== undefined) return <Component {...props} />
    return state === 'failed' ? <Failure /> : null
  }
  return Object.assign(Part, { preload })
}

function loading<Props>(load: Loader<Props>) {
  let loaded: ComponentType<Props> | undefined
  const preload = async (): Promise<void> => {
    loaded ??= await load()
  }
  const useLoaded = (): { state: State; Component: ComponentType<Props> | undefined } => {
    const [state, setState] = useState<State>(loaded === undefined ? 'loading' : 'loaded')
    useEffect(() => {
      let isShown = true
      const show = (next: State): void => {
        if (isShown) setState(next)
      }
      if (state === 'loading')
        preload().then(
          () => show('loaded'),
          () => show('failed'),
        )
      return () => {
        isShown = false
      }
    }, [])
    return { state, Component: loaded }
  }
  return { preload, useLoaded }
}

const failure = 'This part of the console did not load'

/** A browser may remember that a file failed, so only a reload is certain to help. */
function Failure() {
  return (
    <>
      <p role="alert">
        The daemon does not respond, or it was updated since you opened this page. Reloading keeps the session and locks
        unlocked wallets.
      </p>
      <p class="actions">
        <button type="button" class="main" onClick={() => location.reload()}>
          Reload the console
        </button>
      </p>
    </>
  )
}
