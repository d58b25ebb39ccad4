/** Metered work that killed gates have left, in each store. */
import { setTimeout as sleep } from 'node:timers/promises'
import * as Sqlite from '@latchkey/system/sqlite'
import { Redis } from 'ioredis'
import { type Cluster, claimsFile, query } from './Cluster.test.helper.js'

type Work = { readonly work: readonly string[]; readonly unpaid: readonly string[] }

const patienceMs = 90_000

/**
 * Lets the gates charge streams whose gate was killed, as they do after minutes. Waits until none is left.
 */
export async function recoverWork(cluster: Cluster): Promise<void> {
  const giveUpAt = performance.now() + patienceMs
  if ((await workIn(cluster)).work.length === 0) return
  await abandonWork(cluster)
  const [gate] = cluster.gates
  // A gate looks for such work when it starts.
  await gate!.kill()
  await gate!.start()
  // What is left then is reported.
  while (performance.now() < giveUpAt && (await workIn(cluster)).work.length > 0) await sleep(200)
}

/** Returns the work that is left, and the payers that are refused because of it: all of them can pay. */
export async function leftWork(cluster: Cluster): Promise<string[]> {
  const { work, unpaid } = await workIn(cluster)
  return [
    ...work.map((id) => `${id} has metered work in the end`),
    ...unpaid.map((payer) => `${payer} is refused for unpaid work`),
  ]
}

async function workIn({ databaseUrl, redis, options }: Cluster): Promise<Work> {
  if (redis !== undefined) {
    return withRedis(redis.server.url, async (client) => {
      const [work, unpaid] = await Promise.all(['*}:work', '*}:unpaid'].map((pattern) => membersOf(client, pattern)))
      return { work: work!, unpaid: unpaid! }
    })
  }
  const rows = async (table: string): Promise<{ transaction_id: string; payer: string }[]> => {
    if (options.claims === 'postgres') return (await query(databaseUrl, `SELECT * FROM latchkey.${table}`)) as never
    return inFile(options.directory, (database) => database.prepare(`SELECT * FROM ${table}`).all() as never)
  }
  const [work, unpaid] = [await rows('metered_work'), await rows('unpaid_payers')]
  return { work: work.map((row) => row.transaction_id), unpaid: unpaid.map(({ payer }) => payer) }
}

async function abandonWork({ databaseUrl, redis, options }: Cluster): Promise<void> {
  if (redis !== undefined) {
    const script = `for _, key in ipairs(redis.call('KEYS', '*}:work')) do
      for _, id in ipairs(redis.call('ZRANGE', key, 0, -1)) do redis.call('ZADD', key, 0, id) end
    end`
    await withRedis(redis.server.url, (client) => client.eval(script, 0))
  } else if (options.claims === 'postgres') {
    await query(databaseUrl, "UPDATE latchkey.metered_work SET until_at = 'epoch'")
  } else {
    inFile(options.directory, (database) => database.exec('UPDATE metered_work SET until_ms = 0'))
  }
}

async function membersOf(client: Redis, pattern: string): Promise<string[]> {
  const keys = await client.keys(pattern)
  return (await Promise.all(keys.map((key) => client.zrange(key, '0', '-1')))).flat()
}

async function withRedis<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url)
  try {
    return await work(client)
  } finally {
    client.disconnect()
  }
}

function inFile<T>(directory: string, work: (database: ReturnType<typeof Sqlite.open>) => T): T {
  const database = Sqlite.open(claimsFile(directory))
  try {
    database.exec('PRAGMA busy_timeout = 10000')
    return work(database)
  } finally {
    database.close()
  }
}
