/** Sends ALGO or an asset. */
import { useState } from 'preact/hooks'
import type { Act } from '../act.js'
import { AccountSelect } from '../components/AccountSelect.js'
import { AddressField } from '../components/AddressField.js'
import { AmountFields } from '../components/AmountFields.js'
import { ErrorText } from '../components/ErrorText.js'
import { Problems } from '../components/Problems.js'
import { TextField } from '../components/TextField.js'
import { errorMessage } from '../messages.js'
import { chosenAccount } from '../model/chosenAccount.js'
import * as PaymentUri from '../model/paymentUri.js'
import {
  availableText,
  chosenUnit,
  readDraft,
  type SendDraft,
  type SendErrors,
  unknownUnitText,
  wholeBalance,
  withRequest,
} from '../model/sendDraft.js'
import type { TransferProblem } from '../model/transferChecks.js'
import { type OwnAccount, useOwnAccounts } from '../ownAccounts.js'
import { clearDraft, saveDraft, savedDraft } from '../sendDrafts.js'
import { type Store, useStore } from '../store.js'
import { NoAccount } from './NoAccount.js'
import { type OnPrepare, TransferFlow } from './TransferFlow.js'
import '../styles/money.css'
import '../styles/sign.css'

type Props = { address: string | undefined; assetId: string | undefined }

export function SendView(props: Props) {
  const store = useStore()
  return (
    <TransferFlow
      name="send"
      title="Send"
      action="Sign and send"
      again="Send another"
      // Repeating the same transfer must take more than one click.
      onSigned={() => clearDraft(store)}
      form={(onPrepare, act) => <SendStart {...props} onPrepare={onPrepare} act={act} />}
    />
  )
}

type StartProps = Props & { onPrepare: OnPrepare; act: Act }

function SendStart({ address, assetId, onPrepare, act }: StartProps) {
  const { accounts, error } = useOwnAccounts(address)
  if (accounts === undefined || accounts.length === 0) {
    return <NoAccount act={act} isLoaded={accounts !== undefined} purpose="to send from it" />
  }
  return <SendForm {...{ address, assetId, accounts, onPrepare }} balanceError={error} />
}

type FormProps = Props & {
  accounts: readonly OwnAccount[]
  balanceError: string | undefined
  onPrepare: OnPrepare
}

function SendForm({ address, assetId, accounts, balanceError, onPrepare }: FormProps) {
  const store = useStore()
  const [draft, setDraft] = useState(() => startingDraft(store, address, assetId))
  const [errors, setErrors] = useState<SendErrors>({})
  const [problems, setProblems] = useState<readonly TransferProblem[]>([])
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const from = chosenAccount(accounts, draft.from)
  const account = from?.account
  const { units, unit, isKnown } = chosenUnit(account, draft.assetId)

  const update = (change: Partial<SendDraft>, found: SendErrors = {}): void => {
    // Keeps the account in view selected after another one becomes first in the list.
    const next = { ...draft, from: from?.address ?? draft.from, ...change }
    saveDraft(store, next)
    setDraft(next)
    setErrors(found)
    setProblems([])
  }
  const enterReceiver = (text: string): void => {
    const request = PaymentUri.parse(text)
    const filled = request === undefined ? undefined : withRequest(draft, request, units)
    update(filled?.draft ?? { to: text }, filled?.errors)
  }
  const review = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isBusy) return
    const read = readDraft(draft, { sender: from, known: store.knownAddresses() })
    setErrors('errors' in read ? read.errors : {})
    if ('errors' in read) return
    setBusy(true)
    setError(undefined)
    try {
      setProblems(await onPrepare(read.transfer))
    } catch (caught) {
      setError(errorMessage(caught))
    }
    setBusy(false)
  }

  const own = new Set(accounts.map((one) => one.address))
  return (
    <form class="money" onSubmit={review} noValidate>
      <AccountSelect
        label="From"
        accounts={accounts}
        selected={from}
        error={errors.from}
        onSelect={(one) => update({ from: one })}
      />
      {account !== undefined && account.rekeyedTo !== '' && (
        <p class="aside">This account was rekeyed: another key signs for it.</p>
      )}
      <AddressField
        label="To"
        value={draft.to}
        onInput={enterReceiver}
        hint="An address, a name in the address book, or an algorand:// link."
        error={errors.to}
        exclude={from === undefined ? [] : [from.address]}
      />
      <AmountFields
        label="Amount"
        amount={draft.amount}
        onAmount={(amount) => update({ amount })}
        units={units}
        unit={unit}
        onUnit={(id) => update({ assetId: id })}
        hint={isKnown ? availableText(account, unit) : unknownUnitText(account, unit.assetId)}
        error={errors.amount}
        onAll={() => account !== undefined && isKnown && update({ amount: wholeBalance(account, unit) })}
      />
      <TextField
        label="Note (optional)"
        value={draft.note}
        onInput={(note) => update({ note })}
        hint="Everyone can read it on the ledger."
        error={errors.note}
      />
      {balanceError !== undefined && (
        <p class="aside">
          <b>Balances are not available.</b> {balanceError}
        </p>
      )}
      <Problems problems={problems} assetId={unit.assetId === '0' ? undefined : unit.assetId} own={own} />
      <ErrorText text={error} />
      <p class="actions">
        <button type="submit" class="main" disabled={isBusy}>
          {isBusy ? 'Checking…' : 'Review'}
        </button>
      </p>
    </form>
  )
}

/** The previous draft, unless the person comes with an account or an asset. */
function startingDraft(store: Store, address: string | undefined, assetId: string | undefined): SendDraft {
  const saved = savedDraft(store)
  return { ...saved, from: address ?? saved.from, assetId: assetId ?? (address === undefined ? saved.assetId : '0') }
}
