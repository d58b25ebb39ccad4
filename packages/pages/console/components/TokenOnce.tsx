/** The token of an agent, shown once, and how a program uses it. */
import { CopyButton } from './CopyButton.js'

export function TokenOnce({ token }: { token: string }) {
  const mcp = JSON.stringify({
    mcpServers: { latchkey: { command: 'npx', args: ['latchkey', 'mcp', '--token-file', '/path/to/token'] } },
  })
  const { protocol, hostname, port } = location
  return (
    <div class="token">
      <p class="aside">
        <b>This token is shown once.</b> The daemon does not store it. Copy it to the agent now. If it is lost, change
        the token on the agent’s page.
      </p>
      <p class="token-line">
        <code class="break" translate={false}>
          {token}
        </code>
        <CopyButton text={token} what="the token" isPlain />
      </p>
      <h2>How to use it</h2>
      <dl class="facts">
        <Use name="Latchkey’s commands" about="In the agent’s environment, or with --agent-token-file.">
          {`LATCHKEY_AGENT_TOKEN=${token}`}
        </Use>
        <Use name="Any kmd client" about="In place of the API token, with the SDK that the agent already uses.">
          {`KMD_SERVER=${protocol}//${hostname} KMD_PORT=${port} KMD_TOKEN=${token}`}
        </Use>
        <Use name="MCP" about="For an MCP client, with the token in a file. latchkey mcp install writes the file.">
          {mcp}
        </Use>
      </dl>
    </div>
  )
}

function Use({ name, about, children }: { name: string; about: string; children: string }) {
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
