/** Random transactions that write accounts, assets, applications and boxes, often without changing them. */
import type { Transaction } from '@latchkey/algorand'
import { Submission } from '@latchkey/algorand'
import type { NodePair, Person } from './NodePair.test.helper.js'
import type { Random } from './Random.test.helper.js'
import { applicationAccount } from './RandomSession.test.helper.js'

type Txn = Transaction.Transaction

/** Parts that an application runs, by the first argument. Most write a value that is there already, or delete none. */
const parts = [
  'byte "g"; int 1; app_global_put',
  'byte "g"; byte "x"; app_global_put',
  'byte "g"; app_global_del',
  'byte "none"; app_global_del',
  'txn Sender; byte "l"; int 1; app_local_put',
  'txn Sender; byte "none"; app_local_del',
  'txn Sender; byte "l"; app_local_del',
  'txn Accounts 1; byte "l"; int 2; app_local_put',
  'byte "box"; int 8; box_create; pop',
  'byte "box"; byte "12345678"; box_put',
  'byte "box"; int 0; byte ""; box_replace',
  'byte "box"; int 0; byte "1"; box_replace',
  'byte "box"; box_del; pop',
  'byte "box"; byte "12345678"; box_put; byte "box"; box_del; pop',
  'byte "box"; box_get; pop; pop',
  'itxn_begin; int pay; itxn_field TypeEnum; txn Sender; itxn_field Receiver; itxn_submit',
  'itxn_begin; int axfer; itxn_field TypeEnum; txna Assets 0; itxn_field XferAsset; itxn_submit',
  'byte "g"; app_global_get; pop',
  'txn Accounts 1; balance; pop',
  'txna Assets 0; asset_params_get AssetTotal; pop; pop',
  'int 1; app_params_set AppForeignBoxReads',
]

const program = `#pragma version 13
txn ApplicationID; bz end; txn NumAppArgs; bz end
txna ApplicationArgs 0; btoi; switch ${parts.map((_, index) => `part${index}`).join(' ')}
b end
${parts.map((part, index) => `part${index}: ${part}; b end`).join('\n')}
end: int 1`

/** Compares the changes of each round. */
export class RandomChanges {
  readonly #pair: NodePair
  readonly #random: Random
  readonly #name: string
  #people: Person[] = []
  #assets: bigint[] = []
  #apps: bigint[] = []
  accepted = 0
  refused = 0

  constructor(pair: NodePair, random: Random, name: string) {
    this.#pair = pair
    this.#random = random
    this.#name = name
  }

  async run(groups: number): Promise<void> {
    const pair = this.#pair
    const random = this.#random
    this.#people = [pair.person(random), pair.person(random), pair.person(random)]
    await pair.fund(this.#people, 50_000_000n)
    for (let count = 0; count < 2; count++) {
      await this.#create(await this.#application())
      await this.#create(this.#asset())
    }
    await pair.fund(this.#apps.map(applicationAccount), 5_000_000n)
    for (let count = 0; count < groups; count++) await this.#group()
  }

  async #application(): Promise<Txn> {
    const apap = await this.#pair.compile(program, this.#name)
    const apsu = await this.#pair.compile('#pragma version 13\nint 1', this.#name)
    const schema = { nui: 3n, nbs: 3n }
    return this.#pair.txn('appl', this.#random.pick(this.#people), { apap, apsu, apgs: schema, apls: schema })
  }

  #asset(): Txn {
    const owner = this.#random.pick(this.#people)
    const control = { m: owner.publicKey, r: owner.publicKey, f: owner.publicKey, c: owner.publicKey }
    return this.#pair.txn('acfg', owner, { apar: { t: 1000n, un: Buffer.from('U'), ...control } })
  }

  async #create(txn: Txn): Promise<void> {
    const [signed] = this.#pair.sign([txn])
    const { isAccepted } = await this.#pair.submit([signed!], this.#name)
    if (!isAccepted) return
    await this.#lookAtChanges()
    const { id } = Submission.decodeFirst(signed!)
    const shown = await this.#pair.look(`/v2/transactions/pending/${id}?format=json`, this.#name)
    const { 'application-index': app, 'asset-index': asset } = shown as { [name: string]: number | undefined }
    if (app !== undefined) this.#apps.push(BigInt(app))
    if (asset !== undefined) this.#assets.push(BigInt(asset))
  }

  async #group(): Promise<void> {
    const random = this.#random
    const txns: Txn[] = []
    for (let count = random.pick([1, 1, 1, 2, 3]); count > 0; count--) txns.push(await this.#transaction())
    const { isAccepted } = await this.#pair.submit(this.#pair.sign(txns), this.#name)
    if (!isAccepted) {
      this.refused++
      return
    }
    this.accepted++
    await this.#lookAtChanges()
  }

  async #lookAtChanges(): Promise<void> {
    await this.#pair.look(`/v2/deltas/${this.#pair.round}`, `${this.#name}: changes`)
  }

  async #transaction(): Promise<Txn> {
    const random = this.#random
    const pair = this.#pair
    const sender = random.pick(this.#people)
    const other = random.pick([...this.#people, ...this.#apps.map(applicationAccount)]).publicKey
    const xaid = random.pick(this.#assets)
    switch (random.below(12)) {
      case 0:
        return pair.txn('pay', sender, { rcv: other, amt: random.chance(0.5) ? undefined : 1000n })
      case 1:
        return pair.txn('axfer', sender, { xaid, arcv: sender.publicKey })
      case 2:
        return pair.txn('axfer', sender, { xaid, arcv: other, aamt: random.chance(0.5) ? undefined : 3n })
      case 3:
        return pair.txn('axfer', sender, { xaid, arcv: other, aclose: random.chance(0.3) ? other : undefined })
      case 4:
        return pair.txn('afrz', sender, { faid: xaid, fadd: other, afrz: random.chance(0.5) ? true : undefined })
      case 5: {
        const control = { m: sender.publicKey, r: sender.publicKey, f: sender.publicKey, c: sender.publicKey }
        return pair.txn('acfg', sender, random.chance(0.8) ? { caid: xaid, apar: control } : { caid: xaid })
      }
      case 6:
        return random.chance(0.5) ? pair.txn('keyreg', sender) : pair.txn('pay', sender, { rekey: sender.publicKey })
      default:
        return this.#call(sender)
    }
  }

  async #call(sender: Person): Promise<Txn> {
    const random = this.#random
    const apan = random.pick([0n, 0n, 0n, 0n, 0n, 1n, 1n, 2n, 3n, 4n, 5n])
    const part = new Uint8Array(8)
    part[7] = random.below(parts.length + 1)
    const { apap, apsu } = apan === 4n ? await this.#application() : {}
    return this.#pair.txn('appl', sender, {
      apid: random.pick(this.#apps),
      apan,
      apap,
      apsu,
      ...(apan === 4n && random.chance(0.3) && { apgs: { nui: 3n, nbs: 3n } }),
      apaa: [part],
      apat: [random.pick(this.#people).publicKey],
      apas: [random.pick(this.#assets)],
      apbx: [{ n: Buffer.from('box') }],
      fee: 3000n,
    })
  }
}
