/** What went wrong, in words, with what to do about it. */

/** What the page itself finds wrong. Nothing was signed, or it was not sent. */
export type Fault =
  | 'offline'
  | 'unavailable'
  | 'fee'
  | 'other-signed'
  | 'declined'
  | 'password'
  | 'locked'
  | 'no-wallet'
  | 'no-account'
  | 'daemon-unreachable'
  | 'daemon-token'
  | 'no-extension'
  | 'wrong-network'
  | 'changed'
  | 'wallet'

export class PaywallError extends Error {
  override name = 'Trouble'
  readonly fault: Fault

  constructor(fault: Fault, detail = '') {
    super(detail)
    this.fault = fault
  }
}

export type Message = { readonly title: string; readonly text: string }

const faults: { readonly [fault in Fault]: (detail: string) => Message } = {
  offline: () => ({ title: 'The seller does not answer', text: 'Look at your connection, then try again.' }),
  unavailable: () => ({
    title: 'The seller cannot take payments just now',
    text: 'Nothing was paid. Try again in a minute.',
  }),
  fee: () => ({
    title: 'The network asks for a high fee',
    text: 'Nothing was signed. Try again when it is less busy.',
  }),
  'other-signed': () => ({
    title: 'The wallet signed something else',
    text: 'It was not sent, and nothing was paid. Try another wallet.',
  }),
  declined: () => ({ title: 'You declined', text: 'Nothing was signed, and nothing was paid.' }),
  password: () => ({ title: 'The password is wrong', text: 'Nothing was signed. Try again.' }),
  locked: () => ({
    title: 'Too many wrong passwords',
    text: 'The key daemon waits before it takes another one. Try again in a while.',
  }),
  'no-wallet': (name) => ({
    title: 'The wallet is not there',
    text: name === '' ? 'The key daemon has no wallets yet.' : `The key daemon has no wallet called “${name}”.`,
  }),
  'no-account': () => ({ title: 'The wallet has no accounts', text: 'Make one in the wallet, then try again.' }),
  'daemon-unreachable': (url) => ({
    title: 'The key daemon does not answer',
    text: `Is it running at ${url}? It answers pages that its setting allowed_origins names: ${location.origin} must be one.`,
  }),
  'daemon-token': () => ({
    title: 'The key daemon does not know the seller’s token',
    text: 'The seller has to name the daemon’s own token.',
  }),
  'no-extension': (name) => ({
    title: `${name} is not here`,
    text: `Install ${name} in this browser, or take another.`,
  }),
  'wrong-network': (name) => ({
    title: 'The wallet is set to another network',
    text: `Set it to ${name}, then try again.`,
  }),
  changed: () => ({ title: 'The price has changed', text: 'Look at it again before you pay. Nothing was signed.' }),
  wallet: (detail) => ({ title: 'The wallet could not do it', text: `Nothing was paid. It says: ${detail}` }),
}

export function messageFor(error: unknown): Message {
  if (error instanceof PaywallError) return faults[error.fault](error.message)
  return faults.wallet(error instanceof Error ? error.message.slice(0, 300) : 'nothing')
}

/** Why a seller did not take a payment, by its codes. */
export function refusalMessage(code: string, message: string): Message {
  const said = sentence(message)
  if (code === 'invalid_exact_avm_simulation_failed') {
    if (/not opted in/.test(message)) return { title: 'This account cannot hold the asset yet', text: said }
    if (/frozen/.test(message)) return { title: 'This money is frozen', text: said }
    if (/ needs |short of/.test(message)) return { title: 'Not enough money', text: `Nothing was paid. ${said}` }
    return { title: 'The ledger would not take the payment', text: said }
  }
  const known: { readonly [code: string]: Message } = {
    invalid_exact_avm_payload_validity: {
      title: 'The payment took too long',
      text: 'It has expired, and nothing was paid. Pay again, and sign sooner.',
    },
    invalid_exact_avm_settlement_failed: {
      title: 'The ledger refused the payment',
      text: `Nothing was paid. ${said}`,
    },
    invalid_exact_avm_network_mismatch: {
      title: 'The wallet is set to another network',
      text: 'Nothing was paid. Set it to the network named above, then try again.',
    },
    invalid_exact_avm_invalid_signature: {
      title: 'The signature does not hold',
      text: 'Nothing was paid. If the account was rekeyed, pay from the account whose key it answers to.',
    },
    'No matching payment requirements': {
      title: 'The price has changed',
      text: 'Nothing was paid. Open the page again to see what it is now.',
    },
    facilitator_policy_refused: { title: 'The seller’s facilitator does not take this', text: said },
  }
  const ours = /^facilitator_|^unexpected_/.test(code)
  return (
    known[code] ?? {
      title: ours ? 'The seller cannot take payments just now' : 'The payment was not taken',
      text: `${said} (${code})`,
    }
  )
}

/** As the beginning and the end of something that is read. */
function sentence(text: string): string {
  const trimmed = text.trim().slice(0, 500)
  if (trimmed === '') return ''
  return `${trimmed[0]!.toUpperCase()}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? '' : '.'}`
}
