/** Claims and rates in Redis 7 or Valkey, shared by processes on many machines. Requires the package `ioredis`. */

export type { RedisClient, RedisOptions } from './db/redis/RedisConnection.js'
export { StoreError } from './db/StoreError.js'
export { type ErrorCode, errors, X402Error } from './errors.js'
export { RedisRates } from './facilitator/store/redis/RedisRates.js'
export { RedisClaims, type RedisClaimsOptions } from './server/store/redis/RedisClaims.js'
