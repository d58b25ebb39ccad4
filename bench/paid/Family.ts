/**
 * Runs all parties of paid requests, of one checkout or of the published packages, and collects their times in each
 * round.
 */
import type { Facts } from '../devnet/Process.js'
import { Party, type PartyOptions, type Purchases, type Role, roles } from './Party.js'

export type Sample = { readonly cpuMs: { readonly [role in Role]: number }; readonly purchases: Purchases }

export class Family {
  readonly name: string
  readonly samples: Sample[] = []
  readonly #parties: { readonly [role in Role]: Party }

  private constructor(name: string, parties: { readonly [role in Role]: Party }) {
    this.name = name
    this.#parties = parties
  }

  /** Runs on a devnet of the same checkout, or on the given devnet. */
  static async start(name: string, checkout: string | undefined, directory: string, on?: Family): Promise<Family> {
    const open = (role: Role, more: Partial<PartyOptions>): Promise<Party> =>
      Party.start({ role, checkout, directory, ...more })
    const devnet = on?.devnet ?? (await open('devnet', {}))
    const shared = { devnet: devnet.ready as Facts }
    const facilitator = await open('facilitator', shared)
    const seller = await open('seller', { ...shared, url: facilitator.ready as string })
    const buyer = await open('buyer', { ...shared, url: seller.ready as string })
    return new Family(name, { buyer, seller, facilitator, devnet })
  }

  get devnet(): Party {
    return this.#parties.devnet
  }

  /** Returns the processor time in milliseconds, by party. */
  async #cpuMs(): Promise<{ [role in Role]: number }> {
    const times = await Promise.all(roles.map(async (role) => [role, await this.#parties[role].cpuMs()] as const))
    return Object.fromEntries(times) as { [role in Role]: number }
  }

  async warmUp(count: number, at: number): Promise<void> {
    await this.#parties.buyer.buy(count, at)
  }

  async measure(count: number, at: number): Promise<void> {
    const before = await this.#cpuMs()
    const purchases = await this.#parties.buyer.buy(count, at)
    const after = await this.#cpuMs()
    const cpuMs = Object.fromEntries(roles.map((role) => [role, (after[role] - before[role]) / count]))
    this.samples.push({ cpuMs: cpuMs as Sample['cpuMs'], purchases })
  }

  async stop(): Promise<void> {
    for (const role of roles) await this.#parties[role].stop()
  }
}

/** Returns the processor time of all parties together for one paid request. */
export function totalMs({ cpuMs }: Sample): number {
  return roles.reduce((sum, role) => sum + cpuMs[role], 0)
}
