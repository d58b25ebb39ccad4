import { after } from 'node:test'
import { RedisServer } from '../support/redis.test.helper.js'
import { replicasConformance } from '../support/replicas.test.helper.js'

const server = await RedisServer.start({ after })
let databases = 0

replicasConformance('RedisClaims', async () => `${server.url}/${databases++}`)
