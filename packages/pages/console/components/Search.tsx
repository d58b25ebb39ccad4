/** The button that opens the search, as the key / does. */
import { useEffect, useState } from 'preact/hooks'
import { lazyDialog } from './Lazy.js'

export function Search() {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const isTyping =
        event.target instanceof Element && event.target.closest('input, textarea, select, dialog') !== null
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      setOpen(true)
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
  return (
    <>
      <button
        type="button"
        class="search-button"
        aria-label="Search"
        aria-keyshortcuts="/"
        onClick={() => setOpen(true)}
      >
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
          <circle cx="7" cy="7" r="4.5" />
          <path d="m10.5 10.5 4 4" />
        </svg>
        <span>Search</span> <kbd>/</kbd>
      </button>
      {isOpen && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  )
}

/** Loaded when it is first opened, or while the page is idle. */
export const SearchDialog = lazyDialog(async () => (await import('./SearchDialog.js')).SearchDialog)
