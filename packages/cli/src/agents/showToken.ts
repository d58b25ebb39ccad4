/** Shows a new token once, or writes it to its file. */
import type { Agent, AgentLimitUse, AgentWithToken, Kmd } from '@latchkey/kmd-client'
import { quoted } from '../format.js'
import { printJson, printLine, printMessage } from '../messages.js'
import { agentJson, describeAgent } from './describeAgent.js'
import { TokenFile } from './TokenFile.js'

type TokenOptions = {
  readonly tokenFile: string | undefined
  readonly isJson: boolean | undefined
  /** If the token is lost, a new agent is revoked, and an existing one is kept. */
  readonly onLost: 'revoke' | 'keep'
}

/** Creates the file before the token, so that an unwritable file is detected before anything is changed. */
export async function withToken(
  kmd: Kmd,
  make: () => Promise<AgentWithToken>,
  { tokenFile, isJson, onLost }: TokenOptions,
): Promise<void> {
  const file = tokenFile === undefined ? undefined : TokenFile.create(tokenFile)
  let made: AgentWithToken
  try {
    made = await make()
  } catch (error) {
    file?.discard()
    throw error
  }
  const { agent, token } = made
  if (file !== undefined) await writeToken(kmd, agent, () => file.write(token), onLost)
  // The token must be shown even if the daemon stops in the meantime.
  const shown = await kmd.agents.show({ agent: agent.id }).catch(() => ({ agent, budget: [] }))
  if (isJson) {
    const where = file === undefined ? { token } : { tokenFile: file.path }
    printJson({ agent: agentJson(shown.agent, shown.budget), ...where })
  } else sayToken(shown, token, file)
}

async function writeToken(kmd: Kmd, { id, name }: Agent, write: () => void, onLost: 'revoke' | 'keep'): Promise<void> {
  try {
    write()
  } catch (error) {
    if (onLost === 'revoke') {
      await kmd.agents.revoke({ agent: id })
      printMessage(`The token could not be written, so the agent ${quoted(name)} was revoked.`)
    } else
      printMessage(
        `The new token could not be written, and the old one no longer works. To get another: latchkey agent rotate`,
      )
    throw error
  }
}

type Shown = { readonly agent: Agent; readonly budget: readonly AgentLimitUse[] }

function sayToken({ agent, budget }: Shown, token: string, file: TokenFile | undefined): void {
  for (const line of describeAgent(agent, budget).trimEnd().split('\n')) printMessage(line)
  if (file !== undefined) printMessage(`The token is in ${file.path}.`)
  else {
    printMessage('The token (shown only once):')
    printLine(token)
  }
}
