/** Authorizations that a hostile buyer signs itself. */
import { Bytes } from '@latchkey/algorand'
import { decodeRequired, Signer } from '@latchkey/x402/client'
import { UptoProgram } from '@latchkey/x402-wire'
import type { Market } from './market.test.helper.js'

type AuthorizationOptions = {
  readonly rounds: bigint
  /** The number of a devnet account. */
  readonly account?: number
  readonly signer?: Signer.Signer | undefined
}

function accountSigner(market: Market, account: number): Signer.Signer {
  return Signer.fromMnemonic(market.devnet.accounts[account]!.mnemonic)
}

/** A header with an authorization for the first offer of a 402 response, valid for this many rounds. */
export async function authorizationFor(
  market: Market,
  unpaid: Response,
  { rounds, account = 0, signer = accountSigner(market, account) }: AuthorizationOptions,
): Promise<string> {
  const required = decodeRequired(unpaid.headers.get('payment-required')!)
  const accepted = required.accepts[0]!
  const { lastRound, genesisHash } = await market.chain.algod.parameters()
  const terms = {
    payer: signer.address,
    payTo: accepted.payTo,
    assetId: BigInt(accepted.asset),
    maxAmount: BigInt(accepted.amount),
    facilitator: String(accepted.extra['feePayer']),
    genesisHash,
    lastValid: lastRound + rounds,
  }
  const nonce = Bytes.random(UptoProgram.nonceLength)
  const lease = UptoProgram.leaseOf(terms, nonce)
  const unsigned = { id: UptoProgram.idOf(lease), terms: { ...terms, lease }, nonce, firstValid: lastRound }
  const payload = await Signer.signAuthorization(signer, unsigned)
  const { resource } = required
  return Buffer.from(JSON.stringify({ x402Version: 2, resource, accepted, payload })).toString('base64')
}
