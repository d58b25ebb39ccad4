/** Where the token of an agent is kept, and the settings that name the file. */

const maxNameLength = 40

/** A file name without characters that a shell or a file system treats specially. */
export function tokenFileName(agentName: string): string {
  const name = agentName
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .slice(0, maxNameLength)
    .replace(/^-+|-+$/g, '')
    .toLowerCase()
  return `${name === '' ? 'agent' : name}.token`
}

/** Where the commands of the documentation keep token files. */
export function tokenFilePath(agentName: string): string {
  return `~/.latchkey/${tokenFileName(agentName)}`
}

/** The shell command that moves the downloaded file to its place, readable only by its owner. */
export function saveCommand(agentName: string): string {
  const file = tokenFileName(agentName)
  const [from, to] = [`~/Downloads/${file}`, tokenFilePath(agentName)]
  return `mkdir -p -m 700 ~/.latchkey && install -m 600 ${from} ${to} && rm ${from}`
}

type Server = {
  agentName: string
  /** Host and port of the daemon. */
  host: string
}

/** The shell command that prints the settings of an MCP client. `latchkey` alone if its path is unknown. */
export function installCommand(command: readonly string[], { agentName, host }: Server): string {
  const words = command.length === 0 ? ['latchkey'] : command.map(shellWord)
  return [...words, 'mcp install --token-file', tokenFilePath(agentName), '--daemon', host].join(' ')
}

/** The settings of an MCP client. The program is an absolute path, so that no other package of its name can run. */
export function mcpSettings([program, ...args]: readonly string[], { agentName, host }: Server): string {
  const tokenFile = `/path/to/${tokenFileName(agentName)}`
  const server = { command: program, args: [...args, 'mcp', '--token-file', tokenFile, '--daemon', host] }
  return JSON.stringify({ mcpServers: { latchkey: server } })
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
