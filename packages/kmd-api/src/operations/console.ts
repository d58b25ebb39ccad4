/** Sessions of the console, and the list of signatures that it shows. */
import { consoles, define, extraPrefix, refused } from '../Description.js'
import { ascii, uint } from '../members.js'

const text = { type: 'string' } as const

const count = { type: 'uint', format: 'int64' } as const

const signing = {
  type: 'object',
  name: 'Signing',
  members: [
    { name: 'number', shape: count },
    { name: 'at_ms', shape: count, about: 'Milliseconds since 1970' },
    { name: 'wallet_id', shape: { type: 'text' } },
    {
      name: 'wallet_name',
      shape: { type: 'text' },
      about: "The wallet's current name; blank if the wallet was deleted",
    },
    { name: 'transaction_id', shape: text, about: 'Blank for a program' },
    { name: 'program', shape: text, about: 'The address of a program; blank for a transaction' },
    { name: 'type', shape: text, about: 'The type of the transaction, or program' },
    {
      name: 'sender',
      shape: text,
      about: 'The sender of the transaction, or the account that the program may act for',
    },
    { name: 'receiver', shape: text, about: 'Blank if there is none' },
    { name: 'amount', shape: text, about: 'In the smallest unit of the asset, as decimal text' },
    { name: 'asset_id', shape: text, about: 'As decimal text; 0 for ALGO' },
    { name: 'unit_name', shape: text, about: 'Blank if no node returned it' },
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
    about: 'Creates a link to the console that works once.',
    request: [],
    response: [
      { name: 'path', shape: text, about: "Path of the link, at the daemon's address" },
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
    about: 'Exchanges the ticket of a link for a session token, which is sent instead of the API token.',
    open: 'always',
    request: [{ name: 'ticket', kind: ascii, about: 'The part of the link after #' }],
    response: [
      { name: 'session_token', shape: text },
      { name: 'expires_seconds', shape: count, about: 'Seconds until an unused session expires' },
    ],
    responseName: 'OpenConsoleResponse',
    errors: ['bad_ticket'],
    access: { console: 'allowed', agent: consoles },
    audit: { event: 'console_opened', required: 'all' },
  }),
  CloseConsole: define({
    method: 'POST',
    path: `${extraPrefix}/console/close`,
    about: "Ends the caller's session. With the API token, this does nothing.",
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
      'Lists the transactions and programs that were signed, oldest first: the latest 1,000 since the daemon started, and the latest 1,000 from before.',
    request: [{ name: 'after', kind: uint, about: 'List only signatures with higher numbers; absent for all' }],
    response: [
      { name: 'since_ms', shape: count, about: 'When the daemon started, in milliseconds since 1970' },
      { name: 'signings', shape: { type: 'list', of: signing } },
    ],
    responseName: 'GetSigningsResponse',
    access: { console: 'allowed', agent: refused('it contains the signatures of the owner and of other agents') },
    audit: 'none',
  }),
}
