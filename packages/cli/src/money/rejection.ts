/** Explains why the ledger rejects a transaction, and which command fixes it. */
import { explainRejection } from '@latchkey/algod'
import { Amount } from '@latchkey/algorand'
import { type Chain, Funds } from '@latchkey/x402/client'
import { CommandError } from '../errors.js'

/** @param reason the node's own text */
export function rejected(chain: Chain, what: string, reason: string): CommandError {
  return new CommandError('transaction_rejected', `${what}: ${explainRejection(reason)}`, {
    hint: cureOf(chain, reason),
  })
}

const address = '([A-Z2-7]{58})'
const missing = new RegExp(`asset ([0-9]{1,19}) missing from ${address}`)
const belowMinimum = new RegExp(`account ${address} balance ([0-9]{1,19}) below min ([0-9]{1,19})`)
const overspent = new RegExp(`overspend \\(account ${address}`)

function cureOf(chain: Chain, reason: string): string | undefined {
  const [, asset, holder] = missing.exec(reason) ?? []
  if (asset !== undefined) return `Opt in: ${Funds.optInCommand(chain, holder!, BigInt(asset))}`
  const [, poor, has, needs] = belowMinimum.exec(reason) ?? []
  if (poor !== undefined) {
    const short = Amount.formatAlgos(BigInt(needs!) - BigInt(has!))
    return `Fund it with ${short}: ${Funds.fundCommand(chain, poor, short)}`
  }
  const [, spender] = overspent.exec(reason) ?? []
  if (spender === undefined) return undefined
  return `See its balance with latchkey balance ${spender}; fund it: ${Funds.fundCommand(chain, spender, '1 ALGO')}`
}
