/** Runs the conformance tests of catalogues on PostgreSQL, with three replicas. */
import { after } from 'node:test'
import { PostgresSettlements } from '@latchkey/x402/postgres'
import { testListings } from '../support/listingsConformance.test.helper.js'
import { emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'

const server = await PostgresServer.start({ after }, { settings: { max_connections: '60' } })
const address = await emptyDatabase(server)

let count = 0

testListings('PostgreSQL', async (t) => {
  const schema = `test_${++count}`
  const open = () => PostgresSettlements.open({ address, environment: {}, schema, maxConnections: 4 })
  const stores = await Promise.all([open(), open(), open()])
  t.after(() => Promise.all(stores.map((store) => store.close())))
  return stores.map(({ listings }) => listings)
})
