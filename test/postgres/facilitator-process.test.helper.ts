/** Runs a replica of a facilitator in a separate process that can be killed. Its settings are in REPLICA. */
import { Server } from '@latchkey/http'
import { Chain, createFacilitatorHandler, Facilitator, Signer } from '@latchkey/x402/facilitator'
import { PostgresSettlements } from '@latchkey/x402/postgres'

export type ReplicaSettings = {
  readonly address: string
  readonly schema: string
  readonly node: string
  readonly dollarAssetId: string
  /** In base64. */
  readonly sponsorSeed: string
  readonly totalFeeMicroAlgosPerDay?: string
}

const settings = JSON.parse(process.env['REPLICA']!) as ReplicaSettings
const { address, schema, node, dollarAssetId, sponsorSeed, totalFeeMicroAlgosPerDay: total } = settings
const chain = await Chain.open({ network: 'local', nodes: node, dollarAssetId: BigInt(dollarAssetId) })
const store = await PostgresSettlements.open({ address, environment: {}, schema, maxConnections: 4, leaseMs: 1_500 })
const facilitator = new Facilitator({
  chains: [chain],
  feePayer: Signer.fromSeed(new Uint8Array(Buffer.from(sponsorSeed, 'base64'))),
  store,
  policy: { totalFeeMicroAlgosPerDay: total === undefined ? undefined : BigInt(total) },
  pollMs: 20,
  settleTimeoutMs: 10_000,
  onError: (error) => process.stderr.write(`${error}\n`),
})
await facilitator.resume()
const server = new Server({ fetch: createFacilitatorHandler({ facilitator }) })
const { port } = await server.listen('127.0.0.1', 0)
process.on('SIGTERM', () => {
  void server.stop().then(async () => {
    await facilitator.stop()
    process.exit(0)
  })
})
process.stdout.write(`${port}\n`)
