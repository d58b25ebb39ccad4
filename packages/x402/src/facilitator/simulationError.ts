/** Why a simulation failed, in words that help. */
import { AlgodError, type SimulationFailure } from '@latchkey/algod'
import { ChainError } from '../chain/Chain.js'
import * as Funds from '../chain/Funds.js'
import { codes, PaymentError } from './PaymentError.js'
import type { VerifiedPayment } from './verifyPayment.js'

/** Turns a failed simulation into a refusal of whoever is the cause; ours is never told as the buyer's. */
export async function simulationError(failure: SimulationFailure, checked: VerifiedPayment): Promise<PaymentError> {
  const { message } = failure
  if (message.includes('already in ledger')) {
    return new PaymentError(codes.duplicate, 'the payment is in the ledger already; every payment opens one request')
  }
  if (message.includes('txn dead')) {
    const { firstValid, lastValid } = checked
    return new PaymentError(
      codes.validity,
      `the payment is valid from round ${firstValid} to ${lastValid}, and not now`,
    )
  }
  try {
    return (await ourFault(checked)) ?? new PaymentError(codes.simulation, (await buyersFault(checked)) ?? message)
  } catch (error) {
    if (error instanceof AlgodError || error instanceof ChainError) return new PaymentError(codes.simulation, message)
    throw error
  }
}

/** The account that pays fees is short of them, or does not answer to our key any more. */
async function ourFault({ chain, group, feeIndex, feeMicroAlgos }: VerifiedPayment): Promise<PaymentError | undefined> {
  if (feeIndex === undefined) return undefined
  const { microAlgos, minBalance } = await chain.algod.account(group.members[feeIndex]!.sender)
  if (microAlgos - minBalance >= feeMicroAlgos) return undefined
  return new PaymentError(codes.feeAccount, 'the facilitator cannot pay the fee just now; this is not your fault')
}

async function buyersFault({
  chain,
  group,
  payer,
  payTo,
  assetId,
  amount,
}: VerifiedPayment): Promise<string | undefined> {
  const feeMicroAlgos = group.payment.txn.fee ?? 0n
  const fault = await Funds.payerFault(chain, { payer, assetId, amount, feeMicroAlgos })
  return fault ?? (await Funds.receiverFault(chain, payTo, assetId))
}
