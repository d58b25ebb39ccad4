/** Random applications and calls of them: state, boxes, assets, inner transactions, updates, deletions. */
import { Address, Bytes, Hash, Submission, type Transaction } from '@latchkey/algorand'
import type { NodePair, Person } from './NodePair.test.helper.js'
import type { Random } from './Random.test.helper.js'
import { type Names, RandomProgram } from './RandomProgram.test.helper.js'

type Txn = Transaction.Transaction
type Account = { readonly publicKey: Uint8Array; readonly address: string }

const boxNames = ['b', 'c', 'box']

/** The account of an application. */
export function applicationAccount(id: bigint): Account {
  const number = new Uint8Array(8)
  new DataView(number.buffer).setBigUint64(0, id)
  const publicKey = Hash.sha512_256(Bytes.concat([Bytes.fromUtf8('appID'), number]))
  return { publicKey, address: Address.encode(publicKey) }
}

/** Parts of programs. Each leaves the stack as it was, or fails. */
function parts(random: Random, { assets, apps, accounts }: Names, version: number): string[] {
  const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
  const key = (): string => `byte "${random.pick(['g', 'h', 'key', 'x'])}"`
  const box = (): string => `byte "${random.pick(boxNames)}"`
  const size = (): number => random.pick([0, 1, 10, 100, 1000, 1024, 2000, 4096, 5000])
  const asset = (): string => `int ${random.pick(assets)}`
  const app = (): string => (apps.length === 0 ? 'int 0' : `int ${random.pick(apps)}`)
  const account = (): string =>
    random.pick([
      'txn Sender',
      'txna Accounts 1',
      'global CurrentApplicationAddress',
      `byte ${hex(random.pick(accounts))}`,
    ])
  const inner = (...fields: string[]): string =>
    `itxn_begin; ${fields.join('; ')}; ${random.chance(0.3) ? `int ${random.pick([0, 1000, 3000])}; itxn_field Fee; ` : ''}itxn_submit`
  const old = [
    `${key()}; ${key()}; app_global_get; int ${random.below(9)}; +; app_global_put`,
    `${key()}; txn TxID; app_global_put`,
    `${key()}; app_global_del`,
    `txn Sender; ${key()}; global Round; app_local_put`,
    `${account()}; ${key()}; byte "value"; app_local_put`,
    `txn Sender; ${key()}; app_local_del`,
    `${app()}; ${key()}; app_global_get_ex; pop; pop`,
    `${account()}; ${app()}; ${key()}; app_local_get_ex; pop; pop`,
    `byte "logged ${random.below(100)}"; log`,
    `int ${random.below(200)}; bzero; log`,
    `${account()}; balance; itob; log; ${account()}; min_balance; itob; log`,
    `${asset()}; asset_params_get AssetTotal; pop; pop; ${account()}; ${asset()}; asset_holding_get AssetBalance; pop; pop`,
    `${app()}; app_params_get AppCreator; pop; pop`,
    'int 7; store 1',
    'txn NumAppArgs; assert',
    'int 1; txn NumAppArgs; -; pop',
    'global LatestTimestamp; itob; log; global Round; itob; log',
    inner(
      'int pay; itxn_field TypeEnum',
      `${account()}; itxn_field Receiver; int ${random.below(9000)}; itxn_field Amount`,
    ),
    inner('int pay; itxn_field TypeEnum', `${account()}; itxn_field CloseRemainderTo`),
    `${inner(
      'int acfg; itxn_field TypeEnum',
      `int ${random.below(99)}; itxn_field ConfigAssetTotal; ${account()}; itxn_field ConfigAssetManager`,
      'byte "unit"; itxn_field ConfigAssetUnitName',
    )}; itxn CreatedAssetID; itob; log`,
    inner(
      'int axfer; itxn_field TypeEnum',
      `${asset()}; itxn_field XferAsset; global CurrentApplicationAddress; itxn_field AssetReceiver`,
    ),
    inner(
      'int axfer; itxn_field TypeEnum',
      `${asset()}; itxn_field XferAsset; ${account()}; itxn_field AssetReceiver; int ${random.below(5)}; itxn_field AssetAmount`,
    ),
    inner('int axfer; itxn_field TypeEnum', `${asset()}; itxn_field XferAsset; ${account()}; itxn_field AssetCloseTo`),
    inner(
      'int afrz; itxn_field TypeEnum',
      `${asset()}; itxn_field FreezeAsset; ${account()}; itxn_field FreezeAssetAccount; int ${random.below(2)}; itxn_field FreezeAssetFrozen`,
    ),
  ]
  if (version < 6) return old
  const call = (completion: string): string =>
    inner(
      'int appl; itxn_field TypeEnum',
      `${app()}; itxn_field ApplicationID; int ${completion}; itxn_field OnCompletion`,
      `int ${random.below(6)}; itob; itxn_field ApplicationArgs`,
    )
  const six = [
    call('NoOp'),
    call('NoOp'),
    call('OptIn'),
    call('CloseOut'),
    call('ClearState'),
    call('DeleteApplication'),
    `${inner(
      'int appl; itxn_field TypeEnum',
      `byte ${random.pick(['0x068101', '0x0a8101', '0x0a8100', '0x0a'])}; dup; itxn_field ApprovalProgram; itxn_field ClearStateProgram`,
      `int ${random.below(3)}; itxn_field GlobalNumUint`,
    )}; itxn CreatedApplicationID; itob; log`,
    `itxn_begin; int pay; itxn_field TypeEnum; itxn_next; int acfg; itxn_field TypeEnum; itxn_next; int pay; itxn_field TypeEnum; ${account()}; itxn_field Receiver; itxn_submit; gitxn 1 CreatedAssetID; itob; log`,
    `${account()}; acct_params_get AcctMinBalance; pop; itob; log`,
    'gload 0 1; pop',
    'global OpcodeBudget; itob; log',
    'global CallerApplicationID; itob; log',
    inner(
      'int keyreg; itxn_field TypeEnum',
      random.chance(0.2) ? 'int 1; itxn_field Nonparticipation' : 'txn Sender; pop',
    ),
    inner('int pay; itxn_field TypeEnum', `txn Sender; itxn_field RekeyTo`),
  ]
  if (version < 8) return [...old, ...six]
  const eight = [
    `${box()}; int ${size()}; box_create; pop`,
    `${box()}; int ${size()}; box_create; pop`,
    `${box()}; int ${random.below(20)}; byte "xyz"; box_replace`,
    `${box()}; box_del; pop`,
    `${box()}; int ${size() % 4097}; bzero; box_put`,
    `${box()}; box_get; pop; len; itob; log`,
    `${box()}; box_len; pop; itob; log`,
    `${box()}; int ${random.below(20)}; int ${random.below(20)}; box_extract; log`,
  ]
  if (version < 10) return [...old, ...six, ...eight]
  const ten = [
    `${box()}; int ${size()}; box_resize`,
    `${box()}; int ${random.below(9)}; int ${random.below(9)}; byte "spliced"; box_splice`,
  ]
  if (version < 13) return [...old, ...six, ...eight, ...ten]
  const thirteen = [
    `int ${random.below(2)}; app_params_set AppForeignBoxReads`,
    `int ${random.below(2)}; app_params_set AppFamilyBoxAccess`,
    `${app()}; ${box()}; app_box_get; pop; len; itob; log`,
    `${app()}; ${box()}; app_box_len; pop; itob; log`,
    `${app()}; ${box()}; int 9; app_box_create; pop`,
    `${app()}; ${box()}; byte "123456789"; app_box_put`,
    `${app()}; ${box()}; app_box_del; pop`,
    `${app()}; app_params_get AppSizeSponsor; pop; log`,
  ]
  return [...old, ...six, ...eight, ...ten, ...thirteen, ...thirteen]
}

/** The source of an application: the first argument of a call selects what it does. */
function source(random: Random, names: Names, version: number, count: number): string {
  const lines = [
    `#pragma version ${version}`,
    '#pragma typetrack false',
    'txn ApplicationID; bz ok; txn NumAppArgs; bz ok',
  ]
  lines.push('txna ApplicationArgs 0; btoi; store 200')
  for (let part = 0; part < count; part++) lines.push(`load 200; int ${part}; ==; bnz part${part}`)
  lines.push('b ok')
  for (let part = 0; part < count; part++) {
    lines.push(`part${part}:`)
    for (let times = random.pick([1, 1, 1, 2, 3]); times > 0; times--)
      lines.push(random.pick(parts(random, names, version)))
    if (random.chance(0.15)) {
      const written = RandomProgram.part({ random, mode: 'application', version, names, length: random.between(1, 5) })
      if (!/callsub/.test(written)) lines.push(written.replaceAll(/\bl(\d+)/g, `p${part}l$1`))
    }
    lines.push('b ok')
  }
  lines.push('ok: int 1', 'return')
  return lines.join('\n')
}

const partCount = 6
/** The attempts to find a group that the devnet accepts. */
const maxTries = 8

/** One session with its own accounts, asset and applications. */
export class RandomSession {
  readonly #pair: NodePair
  readonly #random: Random
  readonly #name: string
  readonly #apps: bigint[] = []
  readonly #assets: bigint[] = []
  #people: readonly Person[] = []
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
    const [owner, user] = this.#people
    await pair.fund(this.#people, 50_000_000n)
    const control = { m: owner!.publicKey, r: owner!.publicKey, f: owner!.publicKey, c: owner!.publicKey }
    await this.#create(pair.txn('acfg', owner!, { apar: { t: 1_000_000n, dc: 2, un: Buffer.from('U'), ...control } }))
    await pair.submit(
      pair.sign([
        pair.txn('axfer', user!, { xaid: this.#assets[0]!, arcv: user!.publicKey }),
        pair.txn('axfer', owner!, { xaid: this.#assets[0]!, arcv: user!.publicKey, aamt: 500n }),
      ]),
      this.#name,
    )
    for (let count = 0; count < 2; count++) await this.#create(await this.#creation())
    if (this.#apps.length > 0) await pair.fund(this.#apps.map(applicationAccount), 5_000_000n)
    for (const apid of this.#apps) {
      const joining = this.#people.slice(0, 2).map((one) => pair.txn('appl', one, { apid, apan: 1n }))
      await pair.submit(pair.sign(joining), this.#name)
    }
    for (let count = 0; count < groups; count++) await this.#group()
    await this.#look()
  }

  get #names(): Names {
    return {
      apps: this.#apps.length === 0 ? [0n] : this.#apps,
      assets: this.#assets,
      accounts: [...this.#people, ...this.#apps.map(applicationAccount)].map(({ publicKey }) => publicKey),
      boxes: boxNames,
      groupSize: 2,
    }
  }

  async #programs(): Promise<Pick<Txn, 'apap' | 'apsu'>> {
    const random = this.#random
    const version = random.pick([5, 6, 8, 9, 10, 11, 12, 13, 13, 13])
    const apap = await this.#pair.compile(source(random, this.#names, version, partCount), `${this.#name}: assembly`)
    const clear = random.pick([
      'int 1',
      'int 0',
      'err',
      'byte "cleared"; log; int 1',
      'byte "g"; int 9; app_global_put; int 1',
    ])
    const apsu = await this.#pair.compile(`#pragma version ${version}\n${clear}`, `${this.#name}: assembly`)
    return { apap: apap ?? new Uint8Array([6, 0x81, 1]), apsu: apsu ?? new Uint8Array([6, 0x81, 1]) }
  }

  async #creation(): Promise<Txn> {
    const random = this.#random
    return this.#pair.txn('appl', random.pick(this.#people), {
      ...(await this.#programs()),
      apgs: { nui: BigInt(random.below(5)), nbs: BigInt(random.below(5)) },
      apls: { nui: BigInt(random.below(4)), nbs: BigInt(random.below(4)) },
      apep: random.chance(0.3) ? random.below(4) : 0,
    })
  }

  /** Submits a transaction that creates an asset or an application, and adds its id. */
  async #create(txn: Txn): Promise<void> {
    const [signed] = this.#pair.sign([txn])
    const { isAccepted } = await this.#pair.submit([signed!], this.#name)
    if (!isAccepted) return
    const { id } = Submission.decodeFirst(signed!)
    const shown = await this.#pair.look(`/v2/transactions/pending/${id}?format=json`, this.#name)
    const { 'application-index': app, 'asset-index': asset } = shown as { [name: string]: number | undefined }
    if (app !== undefined) this.#apps.push(BigInt(app))
    if (asset !== undefined) this.#assets.push(BigInt(asset))
  }

  async #group(): Promise<void> {
    const random = this.#random
    let signed = await this.#randomGroup()
    // Most groups fail, and those that succeed show more.
    for (let tries = random.chance(0.7) ? maxTries : 0; tries > 0; tries--) {
      if ((await this.#pair.simulateOnDevnet(signed)) === '') break
      signed = await this.#randomGroup()
    }
    if (random.chance(0.2)) await this.#pair.simulate(signed, options(random), `${this.#name}: simulation`)
    const { isAccepted } = await this.#pair.submit(signed, this.#name)
    if (isAccepted) this.accepted++
    else this.refused++
    if (isAccepted && random.chance(0.2)) await this.#pair.look(`/v2/blocks/${this.#pair.round}/logs`, this.#name)
  }

  async #randomGroup(): Promise<Uint8Array[]> {
    const txns: Txn[] = []
    for (let count = this.#random.pick([1, 1, 1, 2, 2, 3, 4]); count > 0; count--) txns.push(await this.#transaction())
    return this.#pair.sign(txns)
  }

  async #transaction(): Promise<Txn> {
    const random = this.#random
    const pair = this.#pair
    const sender = random.pick(this.#people)
    const other = random.pick([...this.#people, ...this.#apps.map(applicationAccount)]).publicKey
    const kind = random.below(20)
    if (kind === 0) return pair.txn('pay', sender, { rcv: other, amt: BigInt(random.below(200_000)) })
    if (kind === 1) {
      const xaid = random.pick(this.#assets)
      return pair.txn('axfer', sender, {
        xaid,
        arcv: random.chance(0.5) ? sender.publicKey : other,
        aamt: BigInt(random.below(3)),
      })
    }
    if (kind === 2 && random.chance(0.3)) return this.#creation()
    return this.#call(sender)
  }

  async #call(sender: Person): Promise<Txn> {
    const random = this.#random
    const { accounts, apps, assets } = this.#names
    const apid = random.pick(apps)
    const completion = random.pick([0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5])
    const part = new Uint8Array(8)
    part[7] = random.below(partCount + (random.chance(0.05) ? 1 : 0))
    const args = random.chance(0.1)
      ? []
      : [part, ...Array.from({ length: random.below(3) }, () => random.bytes(random.below(20)))]
    const call: { -readonly [Name in keyof Txn]?: Txn[Name] } = {
      apid: random.chance(0.99) ? apid : apid + 1n,
      apan: BigInt(completion),
      apaa: args,
      fee: random.pick([1000n, 2000n, 5000n, 5000n, 20_000n, 20_000n]),
    }
    if (completion === 4) Object.assign(call, await this.#programs())
    if (random.chance(0.03)) call.aprv = BigInt(random.below(3))
    const others = apps.filter((one) => one !== apid)
    const named = random.chance(0.9) ? boxNames : boxNames.slice(0, random.below(3))
    if (random.chance(0.25)) call.al = accessList(accounts, { assets, apps: others, boxes: named, owner: apid })
    else {
      const ids = [...others, 0n].filter((one) => one !== 0n)
      call.apat = random.chance(0.8) ? accounts.slice(0, 3) : []
      call.apfa = random.chance(0.9) ? ids.slice(0, 2) : []
      call.apas = random.chance(0.9) ? assets.slice(0, 2) : []
      const room = 8 - call.apat.length - call.apfa.length - call.apas.length
      const foreign = ids.length > 0 && call.apfa.length > 0 && random.chance(0.3)
      const boxes = named.map((name) => (foreign ? { i: 1n, n: Buffer.from(name) } : { n: Buffer.from(name) }))
      call.apbx = [...boxes, {}, {}, {}].slice(0, Math.max(0, room))
    }
    return this.#pair.txn('appl', sender, call)
  }

  async #look(): Promise<void> {
    const pair = this.#pair
    const accounts = [...this.#people, ...this.#apps.map(applicationAccount)]
    await Promise.all(accounts.map(({ address }) => pair.look(`/v2/accounts/${address}`, this.#name)))
    for (const { address } of this.#people) await this.#lookAtApplications(address)
    for (const id of this.#assets) await pair.look(`/v2/assets/${id}`, this.#name)
    for (const id of this.#apps) {
      await pair.look(`/v2/applications/${id}`, this.#name)
      const boxes = await pair.look(`/v2/applications/${id}/boxes`, this.#name)
      for (const { name } of (boxes?.['boxes'] ?? []) as { name: string }[]) {
        await pair.look(`/v2/applications/${id}/box?name=${encodeURIComponent(`b64:${name}`)}`, this.#name)
      }
      await this.#lookAtBoxes(id)
    }
    for (let back = 0n; back < 3n; back++) await pair.look(`/v2/deltas/${pair.round - back}`, this.#name)
  }

  /** Follows the pages of the applications of an account. */
  async #lookAtApplications(address: string): Promise<void> {
    for (const include of ['', '&include=params']) {
      const path = `/v2/accounts/${address}/applications?limit=${this.#random.pick([1, 2, 100])}${include}`
      await this.#follow(path)
    }
  }

  /** Follows the pages of the boxes of an application, now and some rounds ago. */
  async #lookAtBoxes(id: bigint): Promise<void> {
    const random = this.#random
    const path = `/v2/applications/${id}/boxes`
    await this.#follow(`${path}?limit=${random.pick([1, 2, 3])}${random.pick(['', '&include=values'])}`)
    await this.#follow(`${path}?prefix=str:${random.pick(boxNames).slice(0, 1)}&include=values`)
    for (let back = 0n; back < 4n; back++) {
      await this.#follow(`${path}?include=values&limit=2&round=${this.#pair.round - back}`)
    }
    await this.#pair.look(`${path}?round=${this.#pair.round + 1n}`, this.#name)
    await this.#pair.look(`${path}?max=1`, this.#name)
  }

  async #follow(path: string): Promise<void> {
    const page = await this.#pair.look(path, this.#name)
    const next = page?.['next-token']
    if (typeof next !== 'string') return
    await this.#follow(`${path.replace(/&next=[^&]*/, '')}&next=${encodeURIComponent(next)}`)
  }
}

type Listed = {
  readonly assets: readonly bigint[]
  readonly apps: readonly bigint[]
  readonly boxes: readonly string[]
  readonly owner: bigint
}

function accessList(accounts: readonly Uint8Array[], { assets, apps, boxes }: Listed): NonNullable<Txn['al']> {
  const plain = [
    ...accounts.slice(0, 3).map((d) => ({ d })),
    ...assets.slice(0, 2).map((s) => ({ s })),
    ...apps
      .filter((one) => one !== 0n)
      .slice(0, 2)
      .map((p) => ({ p })),
  ]
  const firstAsset = BigInt(Math.min(3, accounts.length)) + 1n
  const holdings = assets.length > 0 ? [{ h: { d: 1n, s: firstAsset } }, { h: { s: firstAsset } }] : []
  const named = boxes.map((name) => ({ b: { n: Buffer.from(name) } }))
  return [...plain, ...holdings, { l: { d: 1n } }, ...named].slice(0, 16)
}

/** Options of a simulation. */
export function options(random: Random): object {
  const trace = { enable: true, 'stack-change': true, 'scratch-change': true, 'state-change': true }
  return {
    ...(random.chance(0.8) && { 'exec-trace-config': trace }),
    ...(random.chance(0.3) && { 'allow-unnamed-resources': true }),
    ...(random.chance(0.3) && { 'allow-more-logging': true }),
    ...(random.chance(0.4) && { 'extra-opcode-budget': random.pick([100, 700, 5000, 20_000]) }),
  }
}
