import { PaymentError } from '../PaymentError.js'
import type { VerifiedPayment } from './verifyPayment.js'

/** The lowest fee of a transaction on all public networks. */
const protocolMinFee = 1_000n
/** The bytes that a signature and its envelope add to a transaction, for fees per byte. */
const signatureBytes = 75
/**
 * The network may ask for less by the time the payment arrives, and buyers use parameters that are some seconds old.
 */
const congestionMargin = 2n

/**
 * Refuses a fee that is higher than the network asks for, because the buyer chooses the fee and the sponsor pays it.
 * The node is queried only if the fee is above the lowest possible one.
 *
 * @throws PaymentError
 * @throws AlgodError if no node responds
 */
export async function checkSponsoredFee({ chain, group, feeMicroAlgos: fee }: VerifiedPayment): Promise<void> {
  const count = BigInt(group.members.length)
  if (fee <= protocolMinFee * count) return
  const { minFee, feePerByte } = await chain.parameters()
  const bytes = group.members.reduce((sum, { bytes: { length } }) => sum + length + signatureBytes, 0)
  const byBytes = feePerByte * BigInt(bytes) * congestionMargin
  const needed = byBytes > minFee * count ? byBytes : minFee * count
  if (fee <= needed) return
  const message = `the fee of ${fee} microAlgos is above the ${needed} that the network requires`
  throw new PaymentError('invalid_exact_avm_fee_too_high', message)
}
