/** Signs what was pasted, one transaction after the other, each in the way that was chosen for it. */

import type { Api } from './api.js'
import * as Envelope from './model/envelope.js'
import type { Way } from './model/signers.js'
import type { Described } from './responses.js'

/** As it was pasted, and what the daemon tells of it. */
export type Pasted = { transaction: Described; original: Uint8Array }

export type Job = Pasted & {
  way: Way
  /** Of a multisig account: which members sign. */
  members: readonly string[]
}

export type SignOptions = { api: Api; handle: string; password: string; jobs: readonly Job[] }

/** Each transaction in the form that nodes take, signed or not. */
export async function signAll({ jobs, ...with_ }: SignOptions): Promise<Uint8Array[]> {
  const signed: Uint8Array[] = []
  for (const job of jobs) signed.push(await signOne({ ...with_, job }))
  return signed
}

type One = Omit<SignOptions, 'jobs'> & { job: Job }

async function signOne({ api, handle, password, job }: One): Promise<Uint8Array> {
  const { transaction, original, way, members } = job
  const bytes = transaction.transaction
  if (way.kind === 'leave') return transaction.isSigned ? original : Envelope.unsigned(bytes)
  if (way.kind === 'key') return api.sign({ handle, password, transaction: bytes, signer: way.address })
  let soFar = way.soFar
  let multisig: Uint8Array | undefined
  for (const member of members) {
    multisig = await api.signMultisig({ handle, password, transaction: bytes, member, account: way.account, soFar })
    soFar = Envelope.readMultisig(multisig)
  }
  if (multisig === undefined) return transaction.isSigned ? original : Envelope.unsigned(bytes)
  return Envelope.withMultisig({ transaction: bytes, sender: transaction.sender, multisig, account: way.account })
}
