/** The steps of a transfer: its form, the review with the signature, and the outcome. */
import { useEffect, useState } from 'preact/hooks'
import { type Act, useAct } from '../act.js'
import { Description } from '../components/Description.js'
import { Heading } from '../components/Heading.js'
import { isComplete } from '../model/signedTransaction.js'
import type { Transfer } from '../model/transfer.js'
import type { TransferProblem } from '../model/transferChecks.js'
import { prepare } from '../preparation.js'
import { hrefOf } from '../route.js'
import type { ReviewedTransaction } from '../signing.js'
import { type Store, useStore } from '../store.js'
import { Submission } from '../submission.js'
import { SignForm } from './SignForm.js'
import { SignResult } from './SignResult.js'
import { SubmitPanel } from './SubmitPanel.js'

type State =
  | { step: 'form' }
  | { step: 'review'; transaction: ReviewedTransaction }
  | { step: 'done'; transaction: ReviewedTransaction; signed: readonly Uint8Array[] }

/** Prepares the transfer and continues with the review. Returns the problems. @throws the errors of the daemon */
export type OnPrepare = (transfer: Transfer) => Promise<readonly TransferProblem[]>

type Props = {
  name: 'send' | 'opt-in'
  title: string
  /** The label of the button that signs and sends. */
  action: string
  /** The label of the button after the end. */
  again: string
  /** Called after signing, before sending. */
  onSigned?: () => void
  form: (onPrepare: OnPrepare, act: Act) => preact.ComponentChildren
}

type Done = Extract<State, { step: 'done' }>

/** Survives navigation. A sent transfer is shown again until its outcome is certain, and is never sent again. */
const sent = new WeakMap<Store, Map<string, Done>>()

export function TransferFlow({ name, title, action, again, onSigned, form }: Props) {
  const store = useStore()
  const act = useAct()
  const [state, setState] = useState<State>(() => openTransfer(store, name) ?? { step: 'form' })
  useEffect(() => {
    const all = sent.get(store) ?? new Map<string, Done>()
    if (state.step === 'done') sent.set(store, all.set(name, state))
    else all.delete(name)
  }, [store, name, state])

  const onPrepare: OnPrepare = async (transfer) => {
    const prepared = await prepare(store.daemon, transfer)
    if (!prepared.isReady) return prepared.problems
    setState({ step: 'review', transaction: prepared.transaction })
    return []
  }
  const restart = (): void => setState({ step: 'form' })

  return (
    <section aria-labelledby={`${name}-title`}>
      <Heading id={`${name}-title`} key={state.step}>
        {state.step === 'review' ? `${title}: review` : title}
      </Heading>
      {state.step === 'form' && form(onPrepare, act)}
      {state.step === 'review' && (
        <SignForm
          transactions={[state.transaction]}
          groupWarnings={[]}
          submitLabel={action}
          act={act}
          onSigned={(signed) => {
            onSigned?.()
            setState({ step: 'done', transaction: state.transaction, signed })
          }}
          onCancel={restart}
        />
      )}
      {state.step === 'done' && <Result state={state} again={again} onRestart={restart} />}
    </section>
  )
}

function Result({ state, again, onRestart }: { state: Done; again: string; onRestart: () => void }) {
  const { signed, transaction } = state
  const line = transaction.description.words[0] ?? ''
  // Other members of a multisig account have to sign first.
  if (!isComplete(signed)) {
    const ids = [transaction.description.transactionId]
    return <SignResult {...{ signed, ids, again, onRestart }} lines={[line]} />
  }
  return (
    <>
      <p class="lead">
        <Description text={line} />
      </p>
      <SubmitPanel signed={signed} isAutomatic />
      <p class="actions after">
        <button type="button" onClick={onRestart}>
          {again}
        </button>
        <a href={hrefOf({ view: 'payments' })}>View in Payments</a>
      </p>
    </>
  )
}

function openTransfer(store: Store, name: string): Done | undefined {
  const done = sent.get(store)?.get(name)
  if (done === undefined || !isComplete(done.signed)) return undefined
  const { status } = Submission.of(store.daemon, done.signed).state
  return status === 'sending' || status === 'waiting' ? done : undefined
}
