/** Guides the person through the backup of a wallet: its scope, the words, and retyping two of them. */
import { backupOperations } from '@latchkey/kmd-api/operations'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Act, useAct } from '../act.js'
import { ActPassword } from '../components/ActPassword.js'
import { Dialog } from '../components/Dialog.js'
import { ErrorText } from '../components/ErrorText.js'
import { UnlockInView } from '../components/UnlockInView.js'
import { hasCode } from '../errors.js'
import { errorMessage } from '../messages.js'
import { type WordToCheck, wordsOf, wordsToCheck, wrongPositions } from '../model/backup.js'
import type { Wallet } from '../responseTypes.js'
import { useStore } from '../store.js'
import { TypedPhrase } from './Confirmations.js'

type State =
  | { step: 'explain' }
  | { step: 'words'; words: readonly string[] }
  /** Only the requested words are kept. */
  | { step: 'check'; asked: readonly WordToCheck[] }
  | { step: 'done' }

/** Hides words that have been on the screen for too long. */
const maxShownMs = 10 * 60_000

type Props = { wallet: Wallet; act?: Act | undefined; onClose: () => void }

/** `act` holds the password of a newly created wallet. */
export function BackupDialog({ wallet, act, onClose }: Props) {
  const store = useStore()
  const ownAct = useAct()
  const [state, setState] = useState<State>({ step: 'explain' })
  const hide = (): void => setState({ step: 'explain' })

  useEffect(() => {
    if (state.step !== 'words') return
    const timer = window.setTimeout(hide, maxShownMs)
    // Another tab may be visible to others, or on another screen.
    const onVisibilityChange = (): void => {
      if (document.visibilityState === 'hidden') hide()
    }
    document.addEventListener('visibilitychange', onVisibilityChange)
    addEventListener('pagehide', hide)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisibilityChange)
      removeEventListener('pagehide', hide)
    }
  }, [state.step])

  return (
    <Dialog title={`Back up ${store.displayName(wallet)}`} onClose={onClose}>
      {state.step === 'explain' && (
        <Explanation
          wallet={wallet}
          act={act ?? ownAct}
          onWords={(words) => setState({ step: 'words', words })}
          onClose={onClose}
        />
      )}
      {state.step === 'words' && (
        <Words
          words={state.words}
          onWritten={() => setState({ step: 'check', asked: wordsToCheck(state.words) })}
          onClose={onClose}
        />
      )}
      {state.step === 'check' && (
        <Check wallet={wallet} asked={state.asked} onAgain={hide} onDone={() => setState({ step: 'done' })} />
      )}
      {state.step === 'done' && <Done onClose={onClose} />}
    </Dialog>
  )
}

const confirmation = 'show words'

type ExplanationProps = {
  wallet: Wallet
  act: Act
  onWords: (words: readonly string[]) => void
  onClose: () => void
}

function Explanation({ wallet, act, onWords, onClose }: ExplanationProps) {
  const store = useStore()
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<string>()
  const [passwordError, setPasswordError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const open = store.openWallet(wallet.id)
  // With or without the quotes of the label.
  const isConfirmed = typed.replace(/["“”]/gu, '').trim().toLowerCase() === confirmation

  const show = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isBusy || !isConfirmed) return
    setBusy(true)
    setError(undefined)
    setPasswordError(undefined)
    try {
      const password = act.password(wallet.id)
      const { masterDerivationKey } = await store.withHandle(wallet.id, ({ handle }) => {
        const request = { wallet_handle_token: handle, wallet_password: password }
        return store.daemon.call(backupOperations.BackUpWallet, request)
      })
      onWords(wordsOf(masterDerivationKey))
    } catch (caught) {
      if (hasCode(caught, 'wrong_password')) {
        act.clear()
        setPasswordError('Wrong password.')
      } else setError(errorMessage(caught))
      setBusy(false)
    }
  }
  return (
    <form onSubmit={show}>
      <p>
        These 25 words restore this wallet if this machine is lost or the password is forgotten. Write them on paper.
      </p>
      <div class="coverage">
        <div>
          <h3>The words restore</h3>
          <ul>
            <li>every key generated in this wallet, now or later</li>
          </ul>
        </div>
        <div>
          <h3>They do not restore</h3>
          <ul>
            <li>imported keys: keep their own words</li>
            <li>multisig accounts: note their members, in order, and the threshold</li>
            <li>the password, and labels in the address book</li>
          </ul>
        </div>
      </div>
      <p class="caution">
        Anyone who reads the words has the keys, without the password. Make sure that no one sees this screen.
      </p>
      {open === undefined ? (
        <UnlockInView act={act} purpose="to see its words" walletId={wallet.id} />
      ) : (
        <ActPassword act={act} wallet={wallet} hint="Required to see the words." error={passwordError} />
      )}
      <TypedPhrase id="backup-confirmation" value={typed} onChange={setTyped}>
        To see the words now, type <b>“{confirmation}”</b>
      </TypedPhrase>
      <ErrorText text={error} />
      <p class="actions">
        <button type="submit" class="main" disabled={isBusy || open === undefined || !isConfirmed}>
          {isBusy ? 'Loading…' : 'Show the words'}
        </button>
        <button type="button" onClick={onClose}>
          Later
        </button>
      </p>
      <p class="soft small">
        If you choose Later, the wallet works without a backup and stays marked as “not backed up”.
      </p>
    </form>
  )
}

type WordsProps = { words: readonly string[]; onWritten: () => void; onClose: () => void }

function Words({ words, onWritten, onClose }: WordsProps) {
  const text = useRef<HTMLParagraphElement>(null)
  // The focused button is gone.
  useLayoutEffect(() => text.current?.focus(), [])
  return (
    <>
      <p ref={text} tabIndex={-1}>
        Write all 25 words on paper, with their numbers. Do not take a photo or store them in a file.
      </p>
      <ol class="words" translate={false} aria-label="The 25 words">
        {words.map((word, index) => (
          <li key={index}>
            <span class="soft">{index + 1}</span> {word}
          </li>
        ))}
      </ol>
      <p class="soft small">The words are hidden when you switch to another tab.</p>
      <p class="actions">
        <button type="button" class="main" onClick={onWritten}>
          I have written them down
        </button>
        <button type="button" onClick={onClose}>
          Later
        </button>
      </p>
    </>
  )
}

type CheckProps = { wallet: Wallet; asked: readonly WordToCheck[]; onAgain: () => void; onDone: () => void }

function Check({ wallet, asked, onAgain, onDone }: CheckProps) {
  const store = useStore()
  const form = useRef<HTMLFormElement>(null)
  const [typed, setTyped] = useState<readonly string[]>(asked.map(() => ''))
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)

  useLayoutEffect(() => form.current?.querySelector('input')?.focus(), [])

  const check = async (event: Event): Promise<void> => {
    event.preventDefault()
    const wrong = wrongPositions(asked, typed)
    if (wrong.length > 0) {
      const which = wrong.map((position) => `word ${position}`).join(' and ')
      return setError(`Not right: ${which}. Compare with what you wrote down, or see the words again.`)
    }
    setBusy(true)
    setError(undefined)
    try {
      await store.daemon.call(backupOperations.FinishWalletBackup, { wallet_id: wallet.id })
      await store.loadWallets().catch(() => {})
      onDone()
    } catch (caught) {
      setError(errorMessage(caught))
      setBusy(false)
    }
  }
  return (
    <form ref={form} onSubmit={check}>
      <p>Type two of the words from your paper.</p>
      {asked.map(({ position }, index) => (
        <div class="field narrow" key={position}>
          <label for={`backup-word-${index}`}>Word {position}</label>
          <input
            id={`backup-word-${index}`}
            value={typed[index]}
            required
            maxLength={20}
            autocomplete="off"
            autocapitalize="off"
            autocorrect="off"
            spellcheck={false}
            onInput={(event) => setTyped(typed.with(index, event.currentTarget.value))}
          />
        </div>
      ))}
      <ErrorText text={error} />
      <p class="actions">
        <button type="submit" class="main" disabled={isBusy}>
          Check
        </button>
        <button type="button" onClick={onAgain}>
          See the words again
        </button>
      </p>
    </form>
  )
}

function Done({ onClose }: { onClose: () => void }) {
  return (
    <>
      <p role="status">
        <b class="status-good">Backed up.</b> Keep the paper where only you can find it. To restore the wallet on any
        machine, run <code>latchkey wallet recover NAME</code> and type the words.
      </p>
      <p class="soft small">
        From now on this console cannot show the words. <code>latchkey wallet backup NAME</code> can, with the password.
      </p>
      <p class="actions">
        <button type="button" class="main" onClick={onClose}>
          Done
        </button>
      </p>
    </>
  )
}
