/** Lists the documented API, copied from its tables: the 23 operations, their fields and types. */
import assert from 'node:assert/strict'
import type { Json } from './daemon.test.helper.js'

type Named = keyof typeof objects
type Scalar = 'string' | 'boolean' | 'uint8' | 'uint32' | 'int64' | 'string(byte)' | 'TxType'
type Bytes = 'PublicKey' | 'PrivateKey' | 'Signature' | 'MasterDerivationKey' | 'Digest'
export type Type = Scalar | Bytes | Named | `${Scalar | Bytes | Named}[]`
type Fields = { [name: string]: Type }

export type Operation = {
  id: string
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  /** Undefined if no body is needed. */
  request?: Fields
  response: Fields
}

const objects = {
  Wallet: {
    driver_name: 'string',
    driver_version: 'uint32',
    id: 'string',
    mnemonic_ux: 'boolean',
    name: 'string',
    supported_txs: 'TxType[]',
  },
  WalletHandle: { expires_seconds: 'int64', wallet: 'Wallet' },
  MultisigSig: { Subsigs: 'MultisigSubsig[]', Threshold: 'uint8', Version: 'uint8' },
  MultisigSubsig: { Key: 'PublicKey', Sig: 'Signature' },
} as const

const handle = { wallet_handle_token: 'string' } as const
const password = { wallet_password: 'string' } as const
const address = { address: 'string' } as const

export const operations: readonly Operation[] = [
  {
    id: 'CreateWallet',
    method: 'POST',
    path: '/v1/wallet',
    request: {
      master_derivation_key: 'MasterDerivationKey',
      wallet_driver_name: 'string',
      wallet_name: 'string',
      ...password,
    },
    response: { wallet: 'Wallet' },
  },
  { id: 'ListWallets', method: 'GET', path: '/v1/wallets', response: { wallets: 'Wallet[]' } },
  {
    id: 'RenameWallet',
    method: 'POST',
    path: '/v1/wallet/rename',
    request: { wallet_id: 'string', wallet_name: 'string', ...password },
    response: { wallet: 'Wallet' },
  },
  {
    id: 'InitWalletHandleToken',
    method: 'POST',
    path: '/v1/wallet/init',
    request: { wallet_id: 'string', ...password },
    response: { wallet_handle_token: 'string' },
  },
  {
    id: 'GetWalletInfo',
    method: 'POST',
    path: '/v1/wallet/info',
    request: handle,
    response: { wallet_handle: 'WalletHandle' },
  },
  {
    id: 'RenewWalletHandleToken',
    method: 'POST',
    path: '/v1/wallet/renew',
    request: handle,
    response: { wallet_handle: 'WalletHandle' },
  },
  { id: 'ReleaseWalletHandleToken', method: 'POST', path: '/v1/wallet/release', request: handle, response: {} },
  {
    id: 'GenerateKey',
    method: 'POST',
    path: '/v1/key',
    request: { display_mnemonic: 'boolean', ...handle },
    response: address,
  },
  {
    id: 'ImportKey',
    method: 'POST',
    path: '/v1/key/import',
    request: { private_key: 'PrivateKey', ...handle },
    response: address,
  },
  {
    id: 'ExportKey',
    method: 'POST',
    path: '/v1/key/export',
    request: { ...address, ...handle, ...password },
    response: { private_key: 'PrivateKey' },
  },
  { id: 'DeleteKey', method: 'DELETE', path: '/v1/key', request: { ...address, ...handle, ...password }, response: {} },
  {
    id: 'ListKeysInWallet',
    method: 'POST',
    path: '/v1/key/list',
    request: handle,
    response: { addresses: 'string[]' },
  },
  {
    id: 'ExportMasterKey',
    method: 'POST',
    path: '/v1/master-key/export',
    request: { ...handle, ...password },
    response: { master_derivation_key: 'MasterDerivationKey' },
  },
  {
    id: 'ImportMultisig',
    method: 'POST',
    path: '/v1/multisig/import',
    request: { multisig_version: 'uint8', pks: 'PublicKey[]', threshold: 'uint8', ...handle },
    response: address,
  },
  {
    id: 'ExportMultisig',
    method: 'POST',
    path: '/v1/multisig/export',
    request: { ...address, ...handle },
    response: { multisig_version: 'uint8', pks: 'PublicKey[]', threshold: 'uint8' },
  },
  {
    id: 'DeleteMultisig',
    method: 'DELETE',
    path: '/v1/multisig',
    request: { ...address, ...handle, ...password },
    response: {},
  },
  {
    id: 'ListMultisig',
    method: 'POST',
    path: '/v1/multisig/list',
    request: handle,
    response: { addresses: 'string[]' },
  },
  {
    id: 'SignTransaction',
    method: 'POST',
    path: '/v1/transaction/sign',
    request: { public_key: 'PublicKey', transaction: 'string(byte)', ...handle, ...password },
    response: { signed_transaction: 'string(byte)' },
  },
  {
    id: 'SignMultisigTransaction',
    method: 'POST',
    path: '/v1/multisig/sign',
    request: {
      partial_multisig: 'MultisigSig',
      public_key: 'PublicKey',
      signer: 'Digest',
      transaction: 'string(byte)',
      ...handle,
      ...password,
    },
    response: { multisig: 'string(byte)' },
  },
  {
    id: 'SignProgram',
    method: 'POST',
    path: '/v1/program/sign',
    request: { ...address, data: 'string(byte)', ...handle, ...password },
    response: { sig: 'string(byte)' },
  },
  {
    id: 'SignMultisigProgram',
    method: 'POST',
    path: '/v1/multisig/signprogram',
    request: {
      ...address,
      data: 'string(byte)',
      partial_multisig: 'MultisigSig',
      public_key: 'PublicKey',
      ...handle,
      ...password,
    },
    response: { multisig: 'string(byte)' },
  },
  { id: 'GetVersion', method: 'GET', path: '/versions', response: { versions: 'string[]' } },
  { id: 'SwaggerHandler', method: 'GET', path: '/swagger.json', response: {} },
]

export function operation(id: string): Operation {
  const found = operations.find((candidate) => candidate.id === id)
  assert.ok(found, `no operation is called ${id}`)
  return found
}

/** Checks for exactly the fields of the table, in addition to the two of the envelope. */
export function assertDocumentedResponse({ id, response }: Operation, json: Json): void {
  assertFields({ error: 'boolean', message: 'string', ...response }, json, id)
  assert.deepEqual([json.error, json.message], [false, ''], id)
}

/** Checks for a request with every field of the table and no other. */
export function assertDocumentedRequest({ id, request }: Operation, body: Json): void {
  assert.deepEqual(Object.keys(body ?? {}).sort(), Object.keys(request ?? {}).sort(), `${id} uses every field`)
}

const byteLengths: { [type: string]: readonly number[] } = {
  PublicKey: [32],
  PrivateKey: [64],
  Signature: [0, 64],
  MasterDerivationKey: [32],
  Digest: [32],
}

const largest: { [type: string]: number } = { uint8: 0xff, uint32: 0xffffffff, int64: Number.MAX_SAFE_INTEGER }

function assertFields(fields: Fields, json: Json, where: string): void {
  assert.deepEqual(Object.keys(json).sort(), Object.keys(fields).sort(), where)
  for (const [name, type] of Object.entries(fields)) assertType(type, json[name], `${where}.${name}`)
}

function assertType(type: string, value: Json, where: string): void {
  if (type.endsWith('[]')) {
    assert.ok(Array.isArray(value), `${where} is a list`)
    for (const [index, element] of value.entries()) assertType(type.slice(0, -2), element, `${where}[${index}]`)
  } else if (type in objects) {
    assertFields(objects[type as Named], value, where)
  } else if (type in byteLengths) {
    assert.ok(Array.isArray(value), `${where} is a list of integers`)
    assert.ok(value.every(isUpTo(0xff)), `${where} holds bytes`)
    assert.ok(byteLengths[type]!.includes(value.length), `${where} has ${value.length} bytes`)
  } else if (type in largest) {
    assert.ok(isUpTo(largest[type]!)(value), `${where} is of type ${type}: ${value}`)
  } else {
    assert.equal(typeof value, type === 'boolean' ? 'boolean' : 'string', where)
    if (type === 'string(byte)') assert.equal(Buffer.from(value, 'base64').toString('base64'), value, where)
  }
}

function isUpTo(limit: number): (value: unknown) => boolean {
  return (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= limit
}
