import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sumhash512 } from './sumhash512.js'

const hex = (message: string): string => Buffer.from(sumhash512(Buffer.from(message))).toString('hex')

test('hashes the published messages', () => {
  const empty =
    '591591c93181f8f90054d138d6fa85b63eeeb416e6fd201e8375ba05d3cb5539' +
    '1047b9b64e534042562cc61944930c0075f906f16710cdade381ee9dd47d10a0'
  assert.equal(hex(''), empty)
  const letter =
    'ea067eb25622c633f5ead70ab83f1d1d76a7def8d140a587cb29068b63cb6407' +
    '107aceecfdffa92579ed43db1eaa5bbeb4781223a6e07dd5b5a12d5e8bde82c6'
  assert.equal(hex('a'), letter)
})

test('messages around the length of a block have different hashes', () => {
  const lengths = [46, 47, 48, 49, 63, 64, 65, 111, 112, 128]
  assert.equal(new Set(lengths.map((length) => hex('x'.repeat(length)))).size, lengths.length)
})
