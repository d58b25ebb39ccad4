/** A program that locks the database at the path in its first argument until its stdin ends. */
import { DatabaseSync } from '@photostructure/sqlite'

const database = new DatabaseSync(process.argv[2]!)
database.exec('BEGIN EXCLUSIVE')
process.stdout.write('held\n')
process.stdin.resume()
process.stdin.on('end', () => {
  database.exec('ROLLBACK')
  database.close()
})
