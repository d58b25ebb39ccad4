/** What `latchkey help` tells beside the commands. */
import { table } from './Command.js'
import { type ExitCode, exitCodes, meanings } from './exitCodes.js'

export const topics: { readonly [name: string]: { about: string; text: () => string } } = {
  environment: { about: 'the variables that commands read', text: environment },
  'exit-codes': { about: 'what commands end with', text: endings },
}

export const variables: readonly (readonly [string, string])[] = [
  ['KMD_DATA_DIR', 'the directory of the key daemon, where --data-dir is not given (~/.latchkey/kmd-v0.5)'],
  ['KMD_WALLET', 'the wallet, where --wallet is not given'],
  ['KMD_KEY', 'the address of the key that pays; AVM_ADDRESS where it is not set'],
  ['KMD_PASSWORD_FILE', 'a file with the password of the wallet in its first line; /dev/null for a blank one'],
  [
    'KMD_PASSWORD',
    'the password itself, where there is no other way: other programs can read it, so that it is warned about',
  ],
  ['AVM_MNEMONIC', 'a key as 25 words, for pay and facilitator; better is one that stays in the daemon'],
  ['AVM_PRIVATE_KEY', 'the same as 64 bytes in base64'],
  ['AVM_NETWORK', 'testnet, mainnet, betanet, local or a CAIP-2 id, where --network is not given'],
  ['ALGOD_URL', 'an algod of that network, where --node is not given'],
  ['ALGOD_TOKEN', 'what that algod asks for'],
  ['USDC_ASSET_ID', 'the asset that is a dollar on a local network, where --dollar is not given'],
  ['FACILITATOR_API_KEYS', 'what sellers must send to the facilitator, separated by commas'],
]

function environment(): string {
  return `Variables that commands read. What is given as an option counts more.\n\n${table(variables)}\n`
}

function endings(): string {
  const rows = (Object.keys(exitCodes) as ExitCode[]).map((name): [string, string] => {
    return [String(exitCodes[name]), meanings[name]]
  })
  return `What commands end with:

${table(rows)}

latchkey dev -- COMMAND ends as the command does; with 128 and the number of the signal if one ended it.
A pipe that is closed early (latchkey wallet list | head -1) is no failure.
The command kmd has the exit codes of the Go daemon: 0 stopped, 1 wrong use, 2 log file cannot be written,
3 failed to start, 4 already running.
`
}
