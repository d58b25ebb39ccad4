/** Calls every operation once, with every field of its table, in an order in which all calls succeed. */
import * as algosdk from 'algosdk'
import type { Json, TestDaemon, TestResponse } from './daemon.test.helper.js'
import { masterKey } from './golden.test.helper.js'
import { assertDocumentedRequest, operation, operations } from './operations.test.helper.js'

/** How bytes are written in requests. */
export type ByteForm = 'integers' | 'base64'

/** `documented` spells out the members of partial_multisig; `reference` uses the short names of the Go daemon. */
export type Spelling = 'documented' | 'reference'

export type Step = { id: string; body: Json; answer: TestResponse }

export type Tour = {
  steps: Step[]
  /** Returns the response of an operation, or of its nth call. */
  answer: (id: string, call?: number) => Json
  transaction: algosdk.Transaction
  multisigTransaction: algosdk.Transaction
  multisig: { version: number; threshold: number; addrs: string[] }
  imported: algosdk.Account
}

export const password = 'the password'
export const program = Buffer.from([1, 32, 1, 1, 34])
const imported = algosdk.mnemonicToSecretKey(algosdk.secretKeyToMnemonic(new Uint8Array(64).fill(9)))

export async function takeTour(daemon: TestDaemon, form: ByteForm, spelling: Spelling): Promise<Tour> {
  const steps: Step[] = []
  const bytes = (value: Uint8Array): Json =>
    form === 'integers' ? Array.from(value) : Buffer.from(value).toString('base64')
  const base64 = (value: Uint8Array): string => Buffer.from(value).toString('base64')
  const call = async (id: string, body?: Json): Promise<Json> => {
    const { method, path } = operation(id)
    assertDocumentedRequest(operation(id), body)
    // The two operations without a body accept an empty object.
    const sent = body ?? (id === 'ListWallets' || id === 'GetVersion' ? {} : undefined)
    const answer = await daemon.call(method, path, sent)
    steps.push({ id, body, answer })
    if (answer.status !== 200) throw new Error(`${id} failed with ${answer.status}: ${answer.text}`)
    return answer.json
  }

  await call('GetVersion')
  await call('SwaggerHandler')
  const created = await call('CreateWallet', {
    master_derivation_key: bytes(masterKey),
    wallet_driver_name: 'sqlite',
    wallet_name: `tour ${form} ${spelling}`,
    wallet_password: password,
  })
  const { id } = created.wallet
  await call('RenameWallet', { wallet_id: id, wallet_name: `renamed ${form} ${spelling}`, wallet_password: password })
  await call('ListWallets')
  const { wallet_handle_token } = await call('InitWalletHandleToken', { wallet_id: id, wallet_password: password })
  const handle = { wallet_handle_token }
  const secret = { ...handle, wallet_password: password }
  await call('GetWalletInfo', handle)
  await call('RenewWalletHandleToken', handle)
  const first: string = (await call('GenerateKey', { ...handle, display_mnemonic: false })).address
  const second: string = (await call('GenerateKey', { ...handle, display_mnemonic: false })).address
  const third: string = (await call('ImportKey', { ...handle, private_key: bytes(imported.sk) })).address
  await call('ListKeysInWallet', handle)
  await call('ExportKey', { ...secret, address: third })
  await call('ExportMasterKey', secret)

  const publicKeyOf = (address: string): Uint8Array => algosdk.decodeAddress(address).publicKey
  const multisig = { version: 1, threshold: 2, addrs: [first, second, third] }
  const importedMultisig = await call('ImportMultisig', {
    ...handle,
    multisig_version: multisig.version,
    pks: multisig.addrs.map((address) => bytes(publicKeyOf(address))),
    threshold: multisig.threshold,
  })
  const multisigAddress: string = importedMultisig.address
  await call('ListMultisig', handle)
  await call('ExportMultisig', { ...handle, address: multisigAddress })

  const transaction = payment(first)
  await call('SignTransaction', {
    ...secret,
    public_key: bytes(publicKeyOf(first)),
    transaction: base64(transaction.toByte()),
  })
  await call('SignProgram', { ...secret, address: first, data: base64(program) })

  const partial = (signatures: readonly Uint8Array[]): Json => {
    const members = multisig.addrs.map((address, i) => ({
      key: bytes(publicKeyOf(address)),
      signature: bytes(signatures[i] ?? new Uint8Array(0)),
    }))
    return spelling === 'documented'
      ? { Subsigs: members.map(({ key, signature }) => ({ Key: key, Sig: signature })), Threshold: 2, Version: 1 }
      : { subsig: members.map(({ key, signature }) => ({ pk: key, s: signature })), thr: 2, v: 1 }
  }
  const multisigTransaction = payment(multisigAddress)
  const request = {
    ...secret,
    signer: bytes(publicKeyOf(multisigAddress)),
    transaction: base64(multisigTransaction.toByte()),
  }
  const started = await call('SignMultisigTransaction', {
    ...request,
    partial_multisig: partial([]),
    public_key: bytes(publicKeyOf(first)),
  })
  await call('SignMultisigTransaction', {
    ...request,
    partial_multisig: partial(signaturesOf(started.multisig)),
    public_key: bytes(publicKeyOf(second)),
  })
  const programRequest = { ...secret, address: multisigAddress, data: base64(program) }
  const startedProgram = await call('SignMultisigProgram', {
    ...programRequest,
    partial_multisig: partial([]),
    public_key: bytes(publicKeyOf(first)),
  })
  await call('SignMultisigProgram', {
    ...programRequest,
    partial_multisig: partial(signaturesOf(startedProgram.multisig)),
    public_key: bytes(publicKeyOf(third)),
  })

  await call('DeleteMultisig', { ...secret, address: multisigAddress })
  await call('DeleteKey', { ...secret, address: third })
  await call('ReleaseWalletHandleToken', handle)

  const visited = new Set(steps.map((step) => step.id))
  for (const { id: known } of operations) if (!visited.has(known)) throw new Error(`the tour left out ${known}`)
  const answer = (wanted: string, index = 0): Json => steps.filter((step) => step.id === wanted)[index]?.answer.json
  return { steps, answer, transaction, multisigTransaction, multisig, imported }
}

/** Returns a payment on an arbitrary network. */
export function payment(sender: string): algosdk.Transaction {
  return algosdk.makePaymentTxnWithSuggestedParamsFromObject({
    sender,
    receiver: sender,
    amount: 12345,
    note: new Uint8Array([1, 2, 3]),
    suggestedParams: {
      fee: 1000,
      flatFee: true,
      minFee: 1000,
      firstValid: 1,
      lastValid: 1001,
      genesisID: 'test-v1',
      genesisHash: new Uint8Array(masterKey),
    },
  })
}

/** Returns the signatures of the members in order, empty if there is none yet. */
export function signaturesOf(multisig: string): Uint8Array[] {
  return decodeMultisig(multisig).subsig.map(({ s }) => s ?? new Uint8Array(0))
}

/** Decodes the result of a multisig operation with algosdk. */
export function decodeMultisig(multisig: string): algosdk.EncodedMultisig {
  return algosdk.encodedMultiSigFromEncodingData(algosdk.msgpackRawDecodeAsMap(Buffer.from(multisig, 'base64')))
}
