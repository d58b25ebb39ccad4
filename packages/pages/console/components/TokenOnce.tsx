/** The token of an agent, shown once: how to keep it, and how a program uses it. */

import { extraOperations } from '@latchkey/kmd-api/operations'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { installCommand, mcpSettings, saveCommand, tokenFileName, tokenFilePath } from '../model/tokenFile.js'
import { saveFile } from '../saveFile.js'
import { useStore } from '../store.js'
import { CopyButton } from './CopyButton.js'

export function TokenOnce({ token, agentName }: { token: string; agentName: string }) {
  const command = useLatchkeyCommand()
  const { host, protocol, hostname, port } = location
  const file = tokenFileName(agentName)
  return (
    <div class="token">
      <p class="note">
        <b>This token is shown once.</b> The daemon does not store it. Save it for the agent now. If it is lost, change
        the token on the agent’s page.
      </p>
      <p class="token-line">
        <code class="break" translate={false}>
          {token}
        </code>
        <CopyButton text={token} what="the token" isPlain />
        <button type="button" onClick={() => saveFile(file, `${token}\n`)}>
          Save as a file
        </button>
      </p>
      <p class="hint">
        The browser saves <code>{file}</code> in its download folder, where other programs may read it. Move it to{' '}
        <code>{tokenFilePath(agentName)}</code> with mode 600, which only you can read:
      </p>
      <p class="token-line">
        <code class="break" translate={false}>
          {saveCommand(agentName)}
        </code>
        <CopyButton text={saveCommand(agentName)} what="the command that moves the file" />
      </p>
      <h2>How to use it</h2>
      <dl class="facts">
        <Use name="Latchkey’s commands" about="With the file.">
          {`latchkey pay URL --agent-token-file ${tokenFilePath(agentName)}`}
        </Use>
        <Use
          name="MCP"
          about={
            <>
              Prints the settings of an MCP client. With <code class="nowrap">--client NAME --write</code>, adds them to
              those of a known client.
            </>
          }
        >
          {installCommand(command, { agentName, host })}
        </Use>
        {command.length > 0 && (
          <Use name="MCP settings" about="The same settings, with the path of your token file to fill in.">
            {mcpSettings(command, { agentName, host })}
          </Use>
        )}
        <Use name="Any kmd client" about="In place of the API token, with the SDK that the agent already uses.">
          {`KMD_SERVER=${protocol}//${hostname} KMD_PORT=${port} KMD_TOKEN=${token}`}
        </Use>
      </dl>
    </div>
  )
}

/** The command line of this installation, or nothing if the daemon does not know it. */
function useLatchkeyCommand(): readonly string[] {
  const { daemon } = useStore()
  const [command, setCommand] = useState<readonly string[]>([])
  useEffect(() => {
    daemon.call(extraOperations.GetHealth).then(
      (health) => setCommand(health.command),
      () => {},
    )
  }, [daemon])
  return command
}

function Use({ name, about, children }: { name: string; about: ComponentChildren; children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <p class="soft">{about}</p>
        <p class="token-line">
          <code class="break" translate={false}>
            {children}
          </code>
          <CopyButton text={children} what={`the line for ${name}`} />
        </p>
      </dd>
    </div>
  )
}
