import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KmdError } from '../errors.js'
import * as MemoryLimits from './MemoryLimits.js'

/** The files of a Linux process with plenty of every resource. */
const plenty: { [path: string]: string } = {
  '/proc/self/maps': 'a\n'.repeat(700),
  '/proc/sys/vm/max_map_count': '65530\n',
  '/proc/self/status': 'Name:\tnode\nVmSize:\t 1000000 kB\n',
  '/proc/self/limits':
    'Limit  Soft Limit  Hard Limit\nMax address space         unlimited            unlimited            bytes\n',
  '/proc/sys/vm/overcommit_memory': '0\n',
  '/proc/meminfo': 'CommitLimit:     2000000 kB\nCommitted_AS:    1990000 kB\n',
}

const refusal = (files: { [path: string]: string }): string | undefined => {
  try {
    MemoryLimits.require(32_768, (path) => files[path])
    return undefined
  } catch (error) {
    assert.equal((error as KmdError).code, 'no_secure_memory')
    return String((error as KmdError).cause)
  }
}

test('nothing is rejected if there is plenty of memory, or if nothing is known', () => {
  assert.equal(refusal(plenty), undefined)
  assert.equal(refusal({}), undefined)
  MemoryLimits.require(32_768)
})

test('too many mappings are rejected before the last one', () => {
  assert.match(refusal({ ...plenty, '/proc/self/maps': 'a\n'.repeat(64_600) }) ?? '', /64600 of 65530 memory mappings/)
  assert.equal(refusal({ ...plenty, '/proc/self/maps': 'a\n'.repeat(64_500) }), undefined)
})

test('the end of the address space is rejected', () => {
  const limits = 'Max address space         1030000000           1030000000           bytes\n'
  assert.match(refusal({ ...plenty, '/proc/self/limits': limits }) ?? '', /RLIMIT_AS/)
})

test('memory that a system with strict accounting could not back is rejected', () => {
  assert.match(refusal({ ...plenty, '/proc/sys/vm/overcommit_memory': '2\n' }) ?? '', /overcommit/)
})
