/** The owner's actions on an agent. Actions that widen the grant need the password of the wallet. */

import { agentOperations } from '@latchkey/kmd-api/operations'
import { useState } from 'preact/hooks'
import { ActPassword } from '../components/ActPassword.js'
import { Dialog } from '../components/Dialog.js'
import { ErrorText } from '../components/ErrorText.js'
import { TokenOnce } from '../components/TokenOnce.js'
import { errorMessage } from '../messages.js'
import { hasEnded } from '../model/agentWords.js'
import { safeName } from '../model/safeName.js'
import { usePasswordAction } from '../passwordAction.js'
import type { Agent } from '../responseTypes.js'
import { useStore } from '../store.js'
import { ChangeAgent } from './ChangeAgent.js'

type Props = { agent: Agent; onChange: () => Promise<void> }
type Open = 'resume' | 'rotate' | 'change' | 'revoke'

export function AgentActions({ agent, onChange }: Props) {
  const store = useStore()
  const [open, setOpen] = useState<Open>()
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const close = (): void => setOpen(undefined)
  const pause = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await store.daemon.call(agentOperations.PauseAgent, { agent: agent.id })
      await onChange()
    } catch (caught) {
      setError(errorMessage(caught))
    }
    setBusy(false)
  }
  if (hasEnded(agent)) {
    return <p class="empty">This agent has ended permanently and signs nothing. Its history stays in the activity.</p>
  }
  return (
    <>
      <p class="actions after">
        {agent.state === 'active' || agent.state === 'suspended' ? (
          <button type="button" disabled={isBusy} onClick={pause}>
            Pause
          </button>
        ) : (
          <button type="button" class="main" onClick={() => setOpen('resume')}>
            Resume
          </button>
        )}
        <button type="button" onClick={() => setOpen('change')}>
          Change limits
        </button>
        <button type="button" onClick={() => setOpen('rotate')}>
          Change token
        </button>
        <button type="button" onClick={() => setOpen('revoke')}>
          Revoke
        </button>
      </p>
      <ErrorText text={error} />
      {open === 'resume' && <ResumeDialog agent={agent} onChange={onChange} onClose={close} />}
      {open === 'rotate' && <RotateDialog agent={agent} onChange={onChange} onClose={close} />}
      {open === 'change' && <ChangeAgent agent={agent} onChange={onChange} onClose={close} />}
      {open === 'revoke' && <RevokeDialog agent={agent} onChange={onChange} onClose={close} />}
    </>
  )
}

type DialogProps = Props & { onClose: () => void }

function walletOf({ walletId, walletName }: Agent): { id: string; name: string } {
  return { id: walletId, name: walletName }
}

function ResumeDialog({ agent, onChange, onClose }: DialogProps) {
  const store = useStore()
  const action = usePasswordAction(agent.walletId)
  const resume = async (event: Event): Promise<void> => {
    event.preventDefault()
    const isDone = await action.run(async (password) => {
      await store.daemon.call(agentOperations.ResumeAgent, { agent: agent.id, wallet_password: password })
    })
    if (!isDone) return
    await onChange()
    onClose()
  }
  return (
    <Dialog title={`Resume ${safeName(agent.name)}`} onClose={onClose}>
      <form onSubmit={resume}>
        <p>The agent can sign again within its limits. Earlier spending still counts.</p>
        <ActPassword act={action.act} wallet={walletOf(agent)} hint="" error={action.passwordError} />
        <ErrorText text={action.error} />
        <p class="actions">
          <button type="submit" class="main" disabled={action.isBusy}>
            {action.isBusy ? 'Resuming…' : 'Resume'}
          </button>
        </p>
      </form>
    </Dialog>
  )
}

function RotateDialog({ agent, onChange, onClose }: DialogProps) {
  const store = useStore()
  const action = usePasswordAction(agent.walletId)
  const [token, setToken] = useState<string>()
  const rotate = async (event: Event): Promise<void> => {
    event.preventDefault()
    await action.run(async (password) => {
      const request = { agent: agent.id, wallet_password: password }
      setToken((await store.daemon.call(agentOperations.RotateAgentToken, request)).token)
    })
  }
  if (token !== undefined) {
    const done = (): void => {
      void onChange()
      onClose()
    }
    return (
      <Dialog title={`New token of ${safeName(agent.name)}`} onClose={done}>
        <TokenOnce token={token} agentName={agent.name} />
        <p class="actions">
          <button type="button" class="main" onClick={done}>
            I have stored it
          </button>
        </p>
      </Dialog>
    )
  }
  return (
    <Dialog title={`Change the token of ${safeName(agent.name)}`} onClose={onClose}>
      <form onSubmit={rotate}>
        <p>The old token stops working at once. The rules and the recorded spending stay.</p>
        <ActPassword act={action.act} wallet={walletOf(agent)} hint="" error={action.passwordError} />
        <ErrorText text={action.error} />
        <p class="actions">
          <button type="submit" class="main" disabled={action.isBusy}>
            {action.isBusy ? 'Changing…' : 'Change token'}
          </button>
        </p>
      </form>
    </Dialog>
  )
}

function RevokeDialog({ agent, onChange, onClose }: DialogProps) {
  const store = useStore()
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const revoke = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await store.daemon.call(agentOperations.RevokeAgent, { agent: agent.id })
      await onChange()
      onClose()
    } catch (caught) {
      setError(errorMessage(caught))
      setBusy(false)
    }
  }
  return (
    <Dialog title={`Revoke ${safeName(agent.name)}?`} onClose={onClose}>
      <p>
        Its token stops working at once and permanently. The wallet keeps its keys. To stop the agent for a while, pause
        it.
      </p>
      <ErrorText text={error} />
      <p class="actions">
        <button type="button" class="main danger" disabled={isBusy} onClick={revoke}>
          {isBusy ? 'Revoking…' : 'Revoke permanently'}
        </button>
        <button type="button" onClick={onClose}>
          Keep it
        </button>
      </p>
    </Dialog>
  )
}
