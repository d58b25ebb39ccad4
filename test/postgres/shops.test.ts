import { after } from 'node:test'
import { emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'
import { replicasConformance } from '../support/replicas.test.helper.js'

const server = await PostgresServer.start({ after })

replicasConformance('PostgresClaims', () => emptyDatabase(server))
