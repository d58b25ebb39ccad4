import { AlgodError, type SimulationFailure } from '@latchkey/algod'
import { ChainError } from '../../chain/Chain.js'
import * as Funds from '../../chain/Funds.js'
import { PaymentError } from '../PaymentError.js'
import { type FeePayers, keyUnavailable, rekeyedText } from '../settle/FeePayers.js'
import type { VerifiedPayment } from './verifyPayment.js'

/**
 * Explains why a simulation failed: which account is the cause, and what is missing. Faults of the facilitator are not
 * reported as the buyer's.
 */
export async function simulationError(
  failure: SimulationFailure,
  payment: VerifiedPayment,
  feePayers: FeePayers,
): Promise<PaymentError> {
  const { message } = failure
  if (failure.code === 'already_in_ledger') {
    const text = 'the payment is already on the ledger; each payment pays for one request'
    return new PaymentError('duplicate_settlement', text)
  }
  if (failure.code === 'outside_validity') {
    const { firstValid, lastValid } = payment
    const text = `the payment is not valid now, only from round ${firstValid} to ${lastValid}`
    return new PaymentError('invalid_exact_avm_payload_validity', text)
  }
  const code = 'invalid_exact_avm_simulation_failed'
  try {
    return (
      (await feeAccountError(payment, feePayers)) ?? new PaymentError(code, (await fundsMessage(payment)) ?? message)
    )
  } catch (error) {
    if (error instanceof AlgodError || error instanceof ChainError) return new PaymentError(code, message)
    throw error
  }
}

/** Records the problem of the account, so that new payments name another one. */
async function feeAccountError(payment: VerifiedPayment, feePayers: FeePayers): Promise<PaymentError | undefined> {
  const { chain, feePayer, feeMicroAlgos } = payment
  const account = feePayer === undefined ? undefined : feePayers.get(feePayer)
  if (account === undefined) return undefined
  const { microAlgos, minBalance, authAddress = account.address } = await chain.algod.account(account.address)
  if (authAddress !== account.authorizer) {
    account.report(chain.caip2, rekeyedText(account.address))
    return keyUnavailable()
  }
  if (microAlgos - minBalance >= feeMicroAlgos) return undefined
  account.report(chain.caip2, `the fee account ${account.address} cannot pay a fee`)
  const message = "the facilitator cannot pay the fee now; this is not the buyer's fault"
  return new PaymentError('facilitator_fee_account_unfunded', message)
}

async function fundsMessage(payment: VerifiedPayment): Promise<string | undefined> {
  const { chain, group, payer, payTo, assetId, amount } = payment
  const feeMicroAlgos = group.payment.txn.fee ?? 0n
  const problem = await Funds.payerProblem(chain, { payer, assetId, amount, feeMicroAlgos })
  const found = problem ?? (await Funds.receiverProblem(chain, payTo, assetId))
  return found && Funds.describe(found)
}
