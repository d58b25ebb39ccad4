/** The address book of a daemon: the owner's labels of addresses. */
import type { CallOptions, Connection } from './Connection.js'

/** An address with the owner's own word for it. */
export type Contact = { address: string; label: string }

/** The address book: `kmd.contacts`. Latchkey's daemon only. Every method throws {@link KmdClientError}. */
export class Contacts {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Lists all contacts, by label. */
  async list(options: CallOptions = {}): Promise<Contact[]> {
    const response = await this.#connection.call('ListContacts', options)
    return response.objects('contacts').map((one) => ({ address: one.text('address'), label: one.text('label') }))
  }

  /**
   * Gives an address a label, or another label. Returns the contact as it is stored.
   *
   * @example
   * await kmd.contacts.set({ address, label: 'Corner shop' })
   */
  async set({ address, label, ...options }: Contact & CallOptions): Promise<Contact> {
    const response = await this.#connection.call('SetContact', { ...options, members: { address, label } })
    return { address, label: response.text('label') }
  }

  /** Takes the label of an address away. Deleting one that is not there succeeds. */
  async delete({ address, ...options }: { address: string } & CallOptions): Promise<void> {
    await this.#connection.call('DeleteContact', { ...options, members: { address } })
  }
}
