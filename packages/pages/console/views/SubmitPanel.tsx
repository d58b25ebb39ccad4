/** Sends the signed transactions and shows their outcome: waiting, the round, or the error. */
import { Explorer, Network } from '@latchkey/algorand'
import { useEffect, useState } from 'preact/hooks'
import { CopyButton } from '../components/CopyButton.js'
import { Description } from '../components/Description.js'
import { ErrorText } from '../components/ErrorText.js'
import { errorMessage } from '../messages.js'
import { chooseNetwork, submittedHash } from '../model/network.js'
import { usePolling } from '../polling.js'
import { useStore } from '../store.js'
import { Submission } from '../submission.js'
import { RealMoneyConfirmation } from './Confirmations.js'

type Props = {
  signed: readonly Uint8Array[]
  /** Sends immediately, because the person has already confirmed. */
  isAutomatic: boolean
}

export function SubmitPanel({ signed, isAutomatic }: Props) {
  const store = useStore()
  const submission = useSubmission(signed)
  const [isRealMoney, setRealMoney] = useState(false)
  const [error, setError] = useState<string>()
  const { state } = submission
  const genesisHash = submittedHash(submission.genesisHashes, store.node?.genesisHash)
  const network = networkOf(genesisHash)
  const isWaiting = state.status === 'waiting'

  useEffect(() => {
    if (isAutomatic && submission.state.status === 'ready') void submission.submit()
  }, [submission, isAutomatic])

  usePolling(
    async () => {
      if (submission.state.status !== 'waiting') return
      try {
        await submission.check()
        setError(undefined)
      } catch (caught) {
        setError(errorMessage(caught))
      }
    },
    1_500,
    [submission, isWaiting],
  )

  const mismatch = networkMismatch(genesisHash, store.node?.genesisHash)
  const needsWord = network === Network.mainnet && !isAutomatic
  return (
    <section class="submission" aria-label="Submission">
      {state.status === 'ready' && mismatch !== undefined && <p class="aside">{mismatch}</p>}
      {state.status === 'ready' && mismatch === undefined && (
        <>
          {needsWord && <RealMoneyConfirmation isChecked={isRealMoney} onChange={setRealMoney} />}
          <p class="actions">
            <button
              type="button"
              class="main"
              disabled={(needsWord && !isRealMoney) || store.node?.isReachable !== true}
              onClick={() => void submission.submit()}
            >
              Submit to {network?.displayName ?? 'the local network'}
            </button>
          </p>
          {store.node?.isReachable === false && <p class="hint">The node is not reachable. {store.node.message}</p>}
        </>
      )}
      <div role="status" aria-live="polite">
        <StatusText submission={submission} />
      </div>
      {isWaiting && <ErrorText text={error} />}
      {canRepeat(submission) && (
        <p class="actions after">
          <button type="button" onClick={() => void submission.submit()}>
            Submit the same transaction again
          </button>
          <span class="soft small">The network accepts it at most once.</span>
        </p>
      )}
      {state.status !== 'ready' && <TransactionId submission={submission} network={network} />}
    </section>
  )
}

function StatusText({ submission }: { submission: Submission }) {
  const { state, lastValid } = submission
  if (state.status === 'sending') return <p class="outcome status-open">Sending…</p>
  if (state.status === 'confirmed') {
    return <p class="outcome status-good">Confirmed in round {state.round.toLocaleString('en')}</p>
  }
  if (state.status === 'waiting') {
    return (
      <>
        <p class="outcome status-open">{state.isKnown ? 'Sent. Waiting for the confirmation…' : 'Pending'}</p>
        {state.note !== '' && (
          <p>
            <Description text={state.note} />
          </p>
        )}
        {!state.isKnown && (
          <p class="soft">
            It is not known whether the network has the transaction. This page keeps checking; until round{' '}
            {lastValid.toLocaleString('en')} it can still be confirmed. Do not prepare another one before then.
          </p>
        )}
      </>
    )
  }
  if (state.status === 'refused') {
    return (
      <>
        <p class="outcome status-bad">Rejected. No funds moved.</p>
        <p>
          <Description text={state.text} />
        </p>
      </>
    )
  }
  if (state.status === 'not-sent') {
    return (
      <>
        <p class="outcome status-bad">Not sent</p>
        <p>{state.text}</p>
      </>
    )
  }
  if (state.status === 'expired') {
    return (
      <>
        <p class="outcome status-bad">Expired. No funds moved.</p>
        <p>
          The transaction was not confirmed by round {lastValid.toLocaleString('en')} and no longer can be. You can
          prepare it again.
        </p>
      </>
    )
  }
  return null
}

type TransactionIdProps = { submission: Submission; network: Network.Network | undefined }

function TransactionId({ submission: { transactionId }, network }: TransactionIdProps) {
  const url = network === undefined ? undefined : Explorer.transactionUrl(network.name, transactionId)
  return (
    <p class="transaction-id small">
      <span class="soft">Transaction</span> <code class="break">{transactionId}</code>{' '}
      <CopyButton text={transactionId} what="transaction ID" />
      {url !== undefined && (
        <a class="explore" href={url} target="_blank" rel="noopener noreferrer">
          View in the explorer
        </a>
      )}
    </p>
  )
}

function canRepeat({ state }: Submission): boolean {
  if (state.status === 'waiting') return !state.isKnown
  return state.status === 'not-sent' || state.status === 'refused'
}

/** Redraws whenever the submission changes. */
function useSubmission(signed: readonly Uint8Array[]): Submission {
  const store = useStore()
  const submission = Submission.of(store.daemon, signed)
  const [, setCount] = useState(0)
  useEffect(() => submission.subscribe(() => setCount((count) => count + 1)), [submission])
  return submission
}

function networkOf(genesisHash: string): Network.Network | undefined {
  return Network.known.find((known) => known.genesisHash === genesisHash)
}

/** A transaction for one network is useless on another. */
function networkMismatch(own: string, nodeHash: string | undefined): string | undefined {
  if (nodeHash === undefined || nodeHash === '' || own === '' || own === nodeHash) return undefined
  const [wanted, has] = [own, nodeHash].map((hash) => networkOf(hash)?.displayName ?? 'another local network')
  return `This transaction is for ${wanted}, but the daemon’s node is on ${has}: it cannot be submitted here. ${chooseNetwork}`
}
