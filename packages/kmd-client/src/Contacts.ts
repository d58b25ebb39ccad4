/** Manages a daemon's address book: the owner's labels for addresses. */
import type { CallOptions, Connection } from './Connection.js'

/** An address with the owner's label. */
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
    return (await this.#connection.call('ListContacts', options)).contacts
  }

  /**
   * Sets or replaces an address's label. Returns the contact as stored.
   *
   * @example
   * await kmd.contacts.set({ address, label: 'Corner shop' })
   */
  async set({ address, label, ...options }: Contact & CallOptions): Promise<Contact> {
    const response = await this.#connection.call('SetContact', { ...options, members: { address, label } })
    return { address, label: response.label }
  }

  /** Removes a contact. Succeeds even if the contact does not exist. */
  async delete({ address, ...options }: { address: string } & CallOptions): Promise<void> {
    await this.#connection.call('DeleteContact', { ...options, members: { address } })
  }
}
