/** Locks the database at the path in the first argument until stdin ends. */
import { DatabaseSync } from '@photostructure/sqlite'

const database = new DatabaseSync(process.argv[2]!)
database.exec('BEGIN EXCLUSIVE')
process.stdout.write('held\n')
process.stdin.resume()
process.stdin.on('end', () => {
  database.exec('ROLLBACK')
  database.close()
})
