/**
 * Adds audit records, and the reservations that they refer to, to the log of a stopped daemon in the daemon's own
 * format.
 */
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { roundAt } from './SignRequests.js'

type Head = { number: number; hash: Uint8Array }

/** The records cover the last 40 days, so some are older than any rolling limit. */
const spanMs = 40 * 86_400_000

export function fillLog(dataDir: string, records: number): void {
  const database = new DatabaseSync(join(dataDir, 'latchkey_state.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; BEGIN')
  const agents = database.prepare('SELECT number, id, name FROM agents').all() as {
    number: number
    id: string
    name: string
  }[]
  // Records of earlier runs would be later than the records that follow.
  database.exec('DELETE FROM reservations; DELETE FROM audit')
  let head: Head = { number: 0, hash: new Uint8Array(32) }
  const insertRecord = database.prepare('INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?)')
  const insertReservation = database.prepare(
    'INSERT INTO reservations VALUES (?, ?, ?, ?, 1, ?, ?, ?, 1, 0, 0, 0, NULL)',
  )
  const startMs = Date.now() - spanMs
  const payee = 'A'.repeat(58)
  for (let index = 0; index < records; index++) {
    const agent = agents[index % agents.length]!
    const atMs = startMs + Math.floor((index / records) * spanMs)
    const number = head.number + 1
    const record = JSON.stringify({
      actor: { id: agent.id, name: agent.name, type: 'agent' },
      address: payee,
      detail: { amount: '1', asset: '0', fee: '0', first_valid: '1', kind: 'payment', last_valid: '1000', payee },
      event: 'transaction_signed',
      transaction: 'B'.repeat(52),
    })
    const hash = hashOf(number, atMs, head.hash, record)
    insertRecord.run(number, atMs, head.hash, record, hash, agent.id)
    const [numberOfAgent, round] = [Math.floor(index / agents.length) + 1, roundAt(atMs)]
    insertReservation.run(agent.number, numberOfAgent, randomBytes(32), atMs, round, round + 1_000n, payee)
    head = { number, hash }
  }
  database.prepare('INSERT OR REPLACE INTO audit_head (id, number, hash) VALUES (1, ?, ?)').run(head.number, head.hash)
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  // Otherwise the daemon's first sync would write all of these records to the disk.
  const file = openSync(join(dataDir, 'latchkey_state.db'), 'r+')
  fsyncSync(file)
  closeSync(file)
}

function hashOf(number: number, atMs: number, previous: Uint8Array, record: string): Buffer {
  const numbers = Buffer.alloc(16)
  numbers.writeBigUInt64BE(BigInt(number), 0)
  numbers.writeBigUInt64BE(BigInt(atMs), 8)
  return createHash('sha256')
    .update('latchkey audit record 1\n')
    .update(numbers)
    .update(previous)
    .update(record)
    .digest()
}
