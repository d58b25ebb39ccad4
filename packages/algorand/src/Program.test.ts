import assert from 'node:assert/strict'
import { test } from 'node:test'
import algosdk from 'algosdk'
import * as Address from './Address.js'
import * as Ed25519 from './Ed25519.js'
import * as KeyDerivation from './KeyDerivation.js'
import * as Program from './Program.js'

const program = Uint8Array.of(0x01, 0x20, 0x01, 0x01, 0x22)

test('a signature over a program matches the reference daemon', () => {
  const master = Uint8Array.from({ length: 32 }, (_, index) => index)
  const { secretKey } = Ed25519.keyPairFromSeed(KeyDerivation.seed(master, 1))
  const signature = Ed25519.sign(Program.bytesToSign(program), secretKey)
  assert.equal(
    Buffer.from(signature).toString('base64'),
    '4e0szhLGm6ygQuXWx4yVE/G1GP+Em9woY+robsyeV7ZhRvybpCqBWB2OIGOQ9p+8cFnBeNZ14XTz7QBa1SE3AQ==',
  )
})

test('the address of a program matches algosdk', () => {
  assert.equal(Address.encode(Program.address(program)), new algosdk.LogicSig(program).address().toString())
})

test('a multisig signs its address with the program', () => {
  const address = new Uint8Array(32).fill(5)
  const bytes = Program.multisigBytesToSign(address, program)
  assert.deepEqual(Buffer.from(bytes), Buffer.concat([Buffer.from('MsigProgram'), address, program]))
  assert.throws(() => Program.multisigBytesToSign(address.slice(1), program), { code: 'invalid_key_length' })
})
