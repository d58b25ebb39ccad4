/** Another program that holds a database: started with its path, lets go when its input ends. */
import { DatabaseSync } from '@photostructure/sqlite'

const database = new DatabaseSync(process.argv[2]!)
database.exec('BEGIN EXCLUSIVE')
process.stdout.write('held\n')
process.stdin.resume()
process.stdin.on('end', () => {
  database.exec('ROLLBACK')
  database.close()
})
