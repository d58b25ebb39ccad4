/** What a transaction does, who is to sign it, and the password. */
import { useCallback, useRef, useState } from 'preact/hooks'
import { PasswordField, takePassword } from '../components/PasswordField.js'
import { Problem } from '../components/Problem.js'
import * as Envelope from '../model/envelope.js'
import { type Choices, choicesFor, firstMembers, type Holdings } from '../model/signers.js'
import { usePolling } from '../polling.js'
import type { Account } from '../responses.js'
import { hrefOf } from '../route.js'
import { type Pasted, signAll } from '../signing.js'
import { messageOf, type Store, useStore } from '../store.js'
import { ApiError } from '../wire.js'
import { Confirmation, isConfirmed } from './Confirmation.js'
import { type Chosen, TransactionCard } from './TransactionCard.js'

type Props = {
  pasted: readonly Pasted[]
  groupWarnings: readonly string[]
  onSigned: (signed: readonly Uint8Array[]) => void
  onCancel: () => void
}

type Held = Holdings & { walletId: string; accounts: ReadonlyMap<string, Account> }

export function SignForm({ pasted, groupWarnings, onSigned, onCancel }: Props) {
  const store = useStore()
  const password = useRef<HTMLInputElement>(null)
  const [wantedId, setWantedId] = useState<string>()
  const [held, setHeld] = useState<readonly Held[]>([])
  const [chosen, setChosen] = useState<{ [index: number]: Chosen }>({})
  const [confirmed, setConfirmed] = useState('')
  const [problem, setProblem] = useState<string>()
  const [wrong, setWrong] = useState<string>()
  const [isBusy, setBusy] = useState(false)

  const load = useCallback(async () => setHeld(await holdings(store, pasted)), [store, pasted])
  usePolling(load, 5_000, [load, store.openWallets.map(({ handle }) => handle).join()])

  const open = held.filter(({ walletId }) => store.openWallet(walletId) !== undefined)
  const wallet = open.find(({ walletId }) => walletId === wantedId) ?? best(open, pasted) ?? open[0]
  const signers = wallet === undefined ? [] : pasted.map((one) => choicesOf(one, wallet, pasted.length > 1))
  const picks = signers.map((choices, index) => chosen[index] ?? suggestion(choices))
  const jobs = picks.map((pick, index) => ({ ...pasted[index]!, ...pick }))
  const willSign = jobs.filter(
    ({ way, members }) => way?.kind === 'key' || (way?.kind === 'multisig' && members.length > 0),
  )
  const isChosen = jobs.length > 0 && jobs.every(({ way }) => way !== undefined) && willSign.length > 0
  const own = new Set(open.flatMap(({ keys, multisigs }) => [...keys, ...multisigs.map(({ address }) => address)]))
  // What cannot be taken back, and what is not shown here, takes more than a click.
  const warnings = [...groupWarnings, ...pasted.flatMap(({ transaction }) => transaction.finalWarnings)]

  const sign = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (wallet === undefined || isBusy) return
    setBusy(true)
    setProblem(undefined)
    setWrong(undefined)
    const secret = takePassword(password)
    try {
      const ready = jobs.map((job) => ({ ...job, way: job.way ?? ({ kind: 'leave' } as const) }))
      const signed = await store.use(wallet.walletId, ({ handle }) =>
        signAll({ api: store.api, handle, password: secret, jobs: ready }),
      )
      store.renew(wallet.walletId).catch(() => {})
      onSigned(signed)
    } catch (error) {
      if (error instanceof ApiError && error.isWrongPassword) setWrong('Wrong password.')
      else setProblem(withWait(error))
      setBusy(false)
      password.current?.focus()
    }
  }

  return (
    <form onSubmit={sign}>
      {open.length > 1 && (
        <div class="field narrow">
          <label for="sign-wallet">Sign with the wallet</label>
          <select
            id="sign-wallet"
            value={wallet?.walletId}
            onChange={(event) => {
              setWantedId(event.currentTarget.value)
              setChosen({})
            }}
          >
            {open.map((one) => (
              <option key={one.walletId} value={one.walletId}>
                {nameOfWallet(store, one)}
              </option>
            ))}
          </select>
        </div>
      )}
      {groupWarnings.length > 0 && (
        <ul class="warnings">
          {groupWarnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
      {pasted.map(({ transaction }, index) => (
        <TransactionCard
          key={transaction.transactionId}
          transaction={transaction}
          place={pasted.length === 1 ? '' : `${index + 1} of ${pasted.length}`}
          signers={signers[index]}
          own={own}
          chosen={picks[index]}
          onChoose={(choice) => setChosen({ ...chosen, [index]: choice })}
        />
      ))}
      {open.length === 0 ? (
        <div class="aside">
          <p>
            <b>No wallet is unlocked.</b>{' '}
            <a href={hrefOf({ view: 'wallets', walletId: undefined })}>Unlock the one that is to sign</a> and come back:
            this stays here.
          </p>
        </div>
      ) : (
        <div class="narrow">
          <input type="text" autocomplete="username" value={nameOfWallet(store, wallet)} readOnly hidden />
          <PasswordField
            label={`Password of ${nameOfWallet(store, wallet)}`}
            field={password}
            autocomplete="current-password"
            hint="Asked for each time something is signed."
            error={wrong}
          />
        </div>
      )}
      {warnings.length > 0 && <Confirmation count={warnings.length} value={confirmed} onChange={setConfirmed} />}
      <Problem text={problem} />
      <p class="actions">
        <button
          type="submit"
          class={warnings.length > 0 ? 'main danger' : 'main'}
          disabled={isBusy || !isChosen || (warnings.length > 0 && !isConfirmed(confirmed))}
        >
          {isBusy ? 'Signing…' : willSign.length > 1 ? `Sign ${willSign.length} transactions` : 'Sign'}
        </button>
        <button type="button" onClick={onCancel}>
          Do not sign
        </button>
      </p>
    </form>
  )
}

function nameOfWallet(store: Store, held: Held | undefined): string {
  const wallet = held === undefined ? undefined : store.openWallet(held.walletId)
  return wallet === undefined ? '' : store.openName(wallet)
}

/** What each unlocked wallet holds, and who signs for the senders. */
async function holdings(store: Store, pasted: readonly Pasted[]): Promise<Held[]> {
  const senders = [...new Set(pasted.map(({ transaction }) => transaction.sender))]
  // Without a node nobody knows who was rekeyed; the person can still choose.
  const found = (await store.hasNode()) ? await store.api.accounts(senders).catch(() => []) : []
  const accounts = new Map(found.map((account) => [account.address, account]))
  const all = await Promise.allSettled(
    store.openWallets.map(({ id }) =>
      store.use(id, async ({ handle }) => {
        const [keys, multisigs] = await Promise.all([store.api.keys(handle), store.api.multisigs(handle)])
        return { walletId: id, keys, multisigs, accounts }
      }),
    ),
  )
  return all.filter((one) => one.status === 'fulfilled').map(({ value }) => value)
}

function choicesOf({ transaction, original }: Pasted, held: Held, isOneOfSeveral: boolean): Choices {
  const soFar = transaction.isSigned ? Envelope.multisigIn(original) : undefined
  return choicesFor({
    transaction,
    soFar,
    holdings: held,
    account: held.accounts.get(transaction.sender),
    isOneOfSeveral,
  })
}

function suggestion({ choices, suggested }: Choices): Chosen {
  const way = choices.find(({ id }) => id === suggested)?.way
  return { id: suggested ?? '', way, members: way?.kind === 'multisig' ? firstMembers(way) : [] }
}

/** The first wallet that can sign something of it. */
function best(open: readonly Held[], pasted: readonly Pasted[]): Held | undefined {
  return open.find((held) =>
    pasted.some((one) => {
      const { suggested } = choicesOf(one, held, pasted.length > 1)
      return suggested !== undefined && suggested !== 'leave'
    }),
  )
}

function withWait(error: unknown): string | undefined {
  const message = messageOf(error)
  if (!(error instanceof ApiError) || error.retryAfterSeconds === undefined) return message
  return `${message} Wait ${Math.ceil(error.retryAfterSeconds)} s.`
}
