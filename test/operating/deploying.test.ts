/**
 * Follows docs/deploying.md exactly, like a new operator, with PostgreSQL, nginx and Prometheus. Payments continue
 * while the replicas are restarted one after the other, and none is lost.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Devnet } from '@latchkey/devnet'
import { Buyer, Chain, payingFetch, Signer } from '@latchkey/x402/client'
import { Client } from 'pg'
import { isPrinted } from '../docs/Output.test.helper.js'
import { until } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { freePort } from '../support/freePort.test.helper.js'
import { PostgresServer } from '../support/postgres.test.helper.js'
import { FollowedPage } from './FollowedPage.test.helper.js'

const page = 'docs/deploying.md'
const dollar = 31566704n

test('a new operator gets two replicas, a balancer, the dashboard and a rolling restart', {
  timeout: 600_000,
}, async (t) => {
  const server = await PostgresServer.start(t)
  const ports = new Map([[5432, server.port]])
  for (const port of [4001, 4021, 4022, 4023, 8402, 9090]) ports.set(port, await freePort())
  const devnet = await Devnet.start({ port: 0 })
  await devnet.stop()
  const libraries = process.env['LATCHKEY_TEST_LIBRARIES'] ?? ''
  const programs = ['POSTGRES_BIN', 'NGINX_BIN', 'PROMETHEUS_BIN'].flatMap((name) => process.env[name] ?? [])
  const followed = new FollowedPage(t, {
    page,
    ports,
    path: [join(root, 'node_modules', '.bin'), ...programs],
    environment: {
      NO_COLOR: '1',
      PGPASSWORD: server.password,
      ...(libraries === '' ? {} : { LD_LIBRARY_PATH: libraries }),
    },
    edit: (text) => text.replaceAll(': 15s', ': 1s'),
  })

  let printed = ''
  const follow = async (section: string): Promise<void> => {
    const blocks = followed.section(section)
    assert.ok(blocks.length > 0, section)
    for (const block of blocks) {
      if (block.language === 'js') followed.write(block)
      else if (block.language === '') assert.ok(isPrinted(block.text, printed), `${page}:${block.line}:\n${printed}`)
      else {
        const { code, output } = await followed.run(t, block)
        const logs = ['4022', '4023', 'seller', 'prometheus', 'devnet'].map((name) =>
          followed.read(`replicas/${name}.out`),
        )
        assert.equal(code, 0, `${page}:${block.line} ended with ${code}:\n${output}\n${logs.join('\n')}`)
        printed = output
      }
    }
  }

  await follow('Database')
  assert.match(printed, /migrated from version 0 to [1-9][\s\S]*are up to date/)
  await follow('Replicas')
  for (const port of ['4022', '4023']) assert.match(followed.read(`replicas/${port}.out`), /Store +PostgreSQL/)
  await follow('Balancer')
  assert.match(printed, /"kinds":\[\{/)
  const outside = followed.real('http://127.0.0.1:8402')
  assert.equal((await fetch(`${outside}/metrics`)).status, 404, 'metrics are not for the public')
  assert.equal((await fetch(`${outside}/verify`, { method: 'POST' })).status, 401, 'the key is asked for')
  await follow('A paid request')
  assert.match(printed, /"payment":"[A-Z2-7]{52}"/)
  const [, requestId] = /"request_id":"([^"]+)"/.exec(printed)!
  const line = new RegExp(`"route":"/settle".*"request_id":"${requestId}"`)
  await until('the line of nginx', () => line.test(followed.read('replicas/nginx/access.log')))
  await follow('Watching it')
  const prometheus = followed.real('http://127.0.0.1:9090/api/v1')
  type Rules = { data: { groups: { rules: { name: string; health: string }[] }[] } }
  const { data } = (await (await fetch(`${prometheus}/rules`)).json()) as Rules
  assert.ok(data.groups.flatMap(({ rules }) => rules).length > 5)
  type Targets = { data: { activeTargets: { health: string }[] } }
  // A target is unknown until its first scrape.
  await until('both targets to be up', async () => {
    const targets = (await (await fetch(`${prometheus}/targets`)).json()) as Targets
    return targets.data.activeTargets.map(({ health }) => health).join() === 'up,up'
  })

  type Board = { panels: { targets?: { expr: string }[] }[] }
  const { panels } = JSON.parse(followed.read('deploy/grafana/latchkey.json')) as Board
  const shown = panels.flatMap(({ targets: queries = [] }) => queries.map(({ expr }) => expr))
  for (const expr of shown) {
    const query = encodeURIComponent(expr.replaceAll('$__rate_interval', '1m'))
    assert.equal((await fetch(`${prometheus}/query?query=${query}`)).status, 200, `the board asks for ${expr}`)
  }

  const chain = await Chain.open({
    network: 'local',
    nodes: followed.real('http://127.0.0.1:4001'),
    dollarAssetId: dollar,
  })
  const buyer = new Buyer({ signer: Signer.fromMnemonic(devnet.accounts[1]!.mnemonic), chains: chain })
  const pay = payingFetch(buyer)
  let isOver = false
  const paid = (async () => {
    let count = 0
    for (; !isOver; count++) {
      const response = await pay(followed.real('http://127.0.0.1:4021/weather'))
      assert.equal(await response.text(), 'sunny\n', `payment ${count}: ${response.status}`)
    }
    return count
  })()
  try {
    await follow('A rolling restart')
  } finally {
    isOver = true
  }
  const count = await paid
  assert.ok(count > 0)
  t.diagnostic(`${count} payments during the restart`)
  assert.match(printed, /sunny/)
  for (const method of ['GET', 'POST', 'PUT']) {
    const unpaid = await fetch(followed.real('http://127.0.0.1:4021/weather'), { method })
    assert.ok([402, 405].includes(unpaid.status), `${method}: ${unpaid.status}`)
    assert.doesNotMatch(await unpaid.text(), /sunny/)
  }
  for (const port of ['4022', '4023']) {
    assert.match(followed.read(`replicas/${port}.log`), /"msg":"stopped"/, 'it ended in good order')
  }

  const database = new Client({ connectionString: server.url('latchkey') })
  await database.connect()
  const { rows } = await database.query<{ state: string; count: string }>(
    'SELECT state, count(*) FROM latchkey.settlements GROUP BY state',
  )
  await database.end()
  assert.deepEqual(rows, [{ state: 'settled', count: String(count + 2) }], 'each paid once, by the replicas together')
})
