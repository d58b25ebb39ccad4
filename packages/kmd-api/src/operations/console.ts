/** Sessions of the console, and the list of signatures that it shows. */
import { consoles, refused } from '../agentAccess.js'
import { define } from '../Description.js'
import { ascii, uint } from '../members.js'
import { extraPrefix } from '../paths.js'

const text = { type: 'string' } as const

const count = { type: 'uint', format: 'int64' } as const

const signing = {
  type: 'object',
  name: 'Signing',
  members: [
    { name: 'number', shape: count },
    { name: 'at_ms', shape: count, about: 'Milliseconds since 1970' },
    { name: 'wallet_id', shape: { type: 'text' } },
    { name: 'wallet_name', shape: { type: 'text' }, about: 'As it is called now; blank if it is gone' },
    { name: 'transaction_id', shape: text, about: 'Blank for a program' },
    { name: 'program', shape: text, about: 'The address that a program hashes to; blank for a transaction' },
    { name: 'type', shape: text, about: 'The type of the transaction, or program' },
    { name: 'sender', shape: text, about: 'The account that the transaction is from, or that the program may act for' },
    { name: 'receiver', shape: text, about: 'Blank where there is none' },
    { name: 'amount', shape: text, about: 'In the smallest unit of the asset, as decimal text' },
    { name: 'asset_id', shape: text, about: 'As decimal text; 0 for Algos' },
    { name: 'unit_name', shape: text, about: 'Blank where no node could tell' },
    { name: 'decimals', shape: count },
    { name: 'fee_micro_algos', shape: text, about: 'As decimal text' },
    { name: 'is_multisig', shape: { type: 'bool' } },
    { name: 'warnings', shape: { type: 'list', of: text } },
  ],
} as const

/** Sessions of the console, and the list of signatures. */
export const consoleOperations = {
  CreateConsoleLink: define({
    method: 'POST',
    path: `${extraPrefix}/console/link`,
    about: 'Makes a link to the console that works once.',
    request: [],
    response: [
      { name: 'path', shape: text, about: 'To be opened at the address of the daemon' },
      { name: 'expires_seconds', shape: count },
    ],
    responseName: 'CreateConsoleLinkResponse',
    access: { console: 'refused', agent: consoles },
    audit: 'none',
  }),
  OpenConsole: define({
    method: 'POST',
    path: `${extraPrefix}/console/session`,
    once: true,
    about: 'Trades the ticket of a link for the token of a session, which goes in the place of the API token.',
    open: 'always',
    request: [{ name: 'ticket', kind: ascii, about: 'What the link has after its #' }],
    response: [
      { name: 'session_token', shape: text },
      { name: 'expires_seconds', shape: count, about: 'How long the session lives without being used' },
    ],
    responseName: 'OpenConsoleResponse',
    errors: ['bad_ticket'],
    access: { console: 'allowed', agent: consoles },
    audit: { event: 'console_opened', required: 'all' },
  }),
  CloseConsole: define({
    method: 'POST',
    path: `${extraPrefix}/console/close`,
    about: 'Ends the session that asks. With the API token it does nothing.',
    request: [],
    response: [],
    responseName: 'CloseConsoleResponse',
    access: { console: 'allowed', agent: consoles },
    audit: 'none',
  }),
  GetSignings: define({
    method: 'POST',
    path: `${extraPrefix}/signings`,
    about:
      'Lists the transactions and programs that were signed since the daemon started, oldest first, 1,000 at most.',
    request: [{ name: 'after', kind: uint, about: 'Only those with higher numbers; absent for all' }],
    response: [
      { name: 'since_ms', shape: count, about: 'When the daemon started, in milliseconds since 1970' },
      { name: 'signings', shape: { type: 'list', of: signing } },
    ],
    responseName: 'GetSigningsResponse',
    access: { console: 'allowed', agent: refused('it has the signatures of the owner and of other agents') },
    audit: 'none',
  }),
}
