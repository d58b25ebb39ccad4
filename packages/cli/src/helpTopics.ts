/** The help topics of `latchkey help` besides the commands. */
import { type ExitCode, exitCodes, meanings } from './exitCodes.js'
import { table, wrap } from './help.js'

type HelpTopic = { readonly summary: string; readonly text: (width: number) => string }

export const helpTopics: { readonly [name: string]: HelpTopic } = {
  environment: { summary: 'show the environment variables that commands read', text: environmentText },
  'exit-codes': { summary: 'show the exit codes of the commands', text: exitCodesText },
}

const variables: readonly (readonly [string, string])[] = [
  ['KMD_DATA_DIR', "the key daemon's data directory, if --data-dir is not given (~/.latchkey/kmd-v0.5)"],
  ['KMD_WALLET', 'name of the wallet, if --wallet is not given'],
  ['KMD_KEY', 'address of the paying key, if neither --key nor --from is given; defaults to AVM_ADDRESS'],
  ['KMD_PASSWORD_FILE', 'file with the wallet password in its first line; /dev/null for a blank password'],
  ['KMD_PASSWORD', 'the wallet password itself; other programs can read it, so the command prints a warning'],
  ['LATCHKEY_AGENT_TOKEN', "an agent's token, for pay, proxy and mcp, if no token file is given"],
  ['AVM_MNEMONIC', 'a key as a mnemonic of 25 words, for pay and facilitator; prefer a key in the daemon'],
  ['AVM_PRIVATE_KEY', 'the same key as 64 bytes in base64'],
  ['AVM_MNEMONIC_2', 'key of a second fee account of the facilitator, and so on; or AVM_PRIVATE_KEY_2'],
  ['AVM_NETWORK', 'testnet, mainnet, betanet, local or a CAIP-2 id, if --network is not given'],
  ['ALGOD_URL', 'URL of an algod of that network, if --node is not given'],
  ['ALGOD_TOKEN', 'API token of that algod'],
  ['USDC_ASSET_ID', 'id of the dollar asset on a local network, if --dollar is not given'],
  ['INDEXER_URL', 'URL of an indexer of that network, for older transactions in tx'],
  ['INDEXER_TOKEN', 'API token of that indexer'],
  ['FACILITATOR_URL', 'URL of the facilitator that gateway uses, find searches and doctor checks'],
  [
    'LATCHKEY_STACK',
    'directory of the running dev stack to use, or the word none to use no stack (the newest, unless options name something else)',
  ],
  ['XDG_STATE_HOME', 'parent of the dev directory, where commands find a running stack (~/.local/state)'],
  ['NO_COLOR', 'disable colour; FORCE_COLOR enables colour even without a terminal'],
  ['LATCHKEY_FACILITATOR_STORE', 'settlement database, if neither --store nor --store-file is given'],
  ['PGPASSWORD', 'password of that database, if its address has none; the other PG* variables apply too'],
  ['FACILITATOR_API_KEYS', 'API keys that the facilitator accepts from sellers, separated by commas'],
]

/** The names of the variables. */
export const variableNames: readonly string[] = variables.map(([name]) => name)

function environmentText(width: number): string {
  const title = 'Environment variables that commands read. Options take precedence.'
  return `${wrap(title, 0, width)}\n\n${table(variables, width)}\n`
}

function exitCodesText(width: number): string {
  const rows = (Object.keys(exitCodes) as ExitCode[]).map((name): [string, string] => {
    return [String(exitCodes[name]), meanings[name]]
  })
  return `Exit codes of the commands:

${table(rows, width)}

${wrap(exitCodeNotes, 0, width)}
`
}

const exitCodeNotes = `latchkey dev -- COMMAND exits with the exit code of COMMAND, or with 128 plus the signal number if a signal ended it.
Closing a pipe early (latchkey wallet list | head -1) is not an error.
The command kmd has the exit codes of the Go daemon: 0 stopped, 1 invalid usage, 2 log file cannot be written, \
3 failed to start, 4 already running.`
