/** Claims and rates in Redis 7 or Valkey, shared by processes on many machines. Requires the package `ioredis`. */
export { type ErrorCode, errors, X402Error } from './errors.js'
export { RedisClaims, type RedisClaimsOptions } from './store/redis/RedisClaims.js'
export type { RedisClient, RedisOptions } from './store/redis/RedisConnection.js'
export { RedisRates } from './store/redis/RedisRates.js'
export { StoreError } from './store/StoreError.js'
