import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromHex } from '../recorded.test.helper.js'
import * as Vrf from './Vrf.js'

// The first example of appendix A.4 of draft-irtf-cfrg-vrf-03.
const key = fromHex('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a')
const proof = fromHex(
  'b6b4699f87d56126c9117a7da55bd0085246f4c56dbc95d20172612e9d38e8d7ca65e573a126ed88d4e30a46f80a6668' +
    '54d675cf3ba81de0de043c3774f061560f55edc256a787afe701677c0f602900',
)
const output = fromHex(
  '5b49b554d05c0cd5a5325376b3387de59d924fd1e13ded44648ab33c21349a60' +
    '3f25b84ec5ed887995b33da5e3bfcb87cd2f64521c4c62cf825cffabbe5d31cc',
)

test('verifies the published example', () => {
  assert.deepEqual(Vrf.verify(key, proof, new Uint8Array()), output)
})

test('rejects another message, key or proof', () => {
  assert.equal(Vrf.verify(key, proof, Uint8Array.of(0)), undefined)
  assert.equal(Vrf.verify(key.with(0, 0), proof, new Uint8Array()), undefined)
  for (const index of [0, 32, 48, 79]) {
    assert.equal(Vrf.verify(key, proof.with(index, proof[index]! ^ 1), new Uint8Array()), undefined)
  }
})
