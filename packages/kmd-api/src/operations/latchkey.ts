/** Operations that the Go daemon does not have, on separate paths so that its clients are not affected. */
import { define, extraPrefix, noChanges, refused } from '../Description.js'
import { address, ascii, handleToken, password, text, uint } from '../members.js'
import type { Shape } from '../Schema.js'

const walletId = { name: 'wallet_id', kind: ascii, about: 'The id of the wallet, as listed' } as const

const walletProblem = {
  type: 'object',
  name: 'WalletProblem',
  members: [
    { name: 'file', shape: { type: 'string' } },
    { name: 'problem', shape: { type: 'string' } },
  ],
} as const satisfies Shape

/** Operations on wallets and the daemon that the Go daemon does not have. */
export const extraOperations = {
  GetHealth: define({
    method: 'GET',
    path: `${extraPrefix}/health`,
    about:
      'Reports that the daemon is running and can read its wallets directory, and which files in it are refused or damaged.',
    request: [],
    response: [
      { name: 'status', shape: { type: 'string' } },
      { name: 'version', shape: { type: 'string' } },
      { name: 'uptime_seconds', shape: { type: 'uint', format: 'int64' } },
      { name: 'wallets', shape: { type: 'uint', format: 'int64' } },
      { name: 'open_handles', shape: { type: 'uint', format: 'int64' } },
      { name: 'wallet_problems', shape: { type: 'list', of: walletProblem }, about: 'The first 100' },
      {
        name: 'lost_log_lines',
        shape: { type: 'uint', format: 'int64' },
        about: 'Lines that could not be written to kmd.log since the start, for example on a full disk',
      },
      {
        name: 'same_user_agents',
        shape: { type: 'list', of: { type: 'string' } },
        about: "Names of agents that ran as the daemon's user or as root since its start: they can bypass every limit",
      },
      {
        name: 'suspended_agents',
        shape: { type: 'list', of: { type: 'string' } },
        about:
          'Names of agents that cannot sign until the owner confirms them, because the state database was rolled back or damaged',
      },
      {
        name: 'command',
        shape: { type: 'list', of: { type: 'string' } },
        about: 'Program and arguments that start the latchkey command on this machine; empty if it is unknown',
      },
    ],
    responseName: 'HealthResponse',
    errors: ['wallets_directory'],
    access: { console: 'allowed', agent: refused("it names the owner's wallets and files") },
    audit: 'none',
  }),
  ChangeWalletPassword: define({
    method: 'POST',
    path: `${extraPrefix}/wallet/password`,
    once: true,
    about: "Changes a wallet's password. Its open handles are released.",
    request: [
      walletId,
      password,
      { name: 'new_wallet_password', kind: text, about: 'The new password; blank if absent' },
    ],
    response: [],
    responseName: 'ChangeWalletPasswordResponse',
    walletFailure: 400,
    access: { console: 'refused', agent: noChanges },
    audit: { event: 'password_changed', required: 'all', isChange: true },
  }),
  DeleteWallet: define({
    method: 'POST',
    path: `${extraPrefix}/wallet/delete`,
    once: true,
    about: 'Removes a wallet from the daemon. The file is kept under another name: rename it back to undo this.',
    request: [walletId, password],
    response: [{ name: 'moved_to', shape: { type: 'string' } }],
    responseName: 'DeleteWalletResponse',
    walletFailure: 400,
    access: { console: 'refused', agent: noChanges },
    audit: { event: 'wallet_deleted', required: 'always', isChange: true },
  }),
  SignReceipt: define({
    method: 'POST',
    path: `${extraPrefix}/receipt/sign`,
    about:
      'Signs a receipt of the x402 extension offer-receipt with the key of an address: a JWS with EdDSA and the DID of the key. The daemon makes the signed text from these members and its own clock, so the signature is valid for nothing else.',
    request: [
      handleToken,
      address,
      { name: 'network', kind: ascii, about: 'The CAIP-2 id of the network of the payment' },
      { name: 'resource_url', kind: ascii, about: 'The URL that was paid for' },
      { name: 'payer', kind: ascii, about: 'The address that paid' },
      { name: 'transaction_id', kind: ascii, about: 'The transaction that paid; blank to leave it out' },
      password,
    ],
    response: [{ name: 'receipt', shape: { type: 'string' }, about: 'The receipt as a compact JWS' }],
    responseName: 'SignReceiptResponse',
    errors: ['key_not_found', 'bad_receipt'],
    walletFailure: 400,
    access: { console: 'refused', agent: refused('a receipt is the statement of a seller') },
    audit: { event: 'receipt_signed', required: 'all', isSignature: true },
  }),
  SignOffer: define({
    method: 'POST',
    path: `${extraPrefix}/offer/sign`,
    about:
      'Signs an offer of the x402 extension offer-receipt with the key of an address: a JWS with EdDSA and the DID of the key. The daemon makes the signed text from these members, so the signature is valid for nothing else.',
    request: [
      handleToken,
      address,
      { name: 'resource_url', kind: ascii, about: 'The URL that is offered' },
      { name: 'scheme', kind: ascii, about: 'The scheme of the payment, such as exact' },
      { name: 'network', kind: ascii, about: 'The CAIP-2 id of the network of the payment' },
      { name: 'asset', kind: ascii, about: 'The id of the asset; 0 is ALGO' },
      { name: 'pay_to', kind: ascii, about: 'The address that is paid' },
      { name: 'amount', kind: ascii, about: 'Base units of the asset' },
      { name: 'valid_until', kind: uint, about: 'The end of the offer, in seconds since 1970' },
      password,
    ],
    response: [{ name: 'offer', shape: { type: 'string' }, about: 'The offer as a compact JWS' }],
    responseName: 'SignOfferResponse',
    errors: ['key_not_found', 'bad_offer'],
    walletFailure: 400,
    access: { console: 'refused', agent: refused('an offer is the statement of a seller') },
    audit: { event: 'offer_signed', required: 'all', isSignature: true },
  }),
}
