import type { Client, PoolConfig } from 'pg'

/** A member that the types of `pg` leave out. */
type Connected = { readonly connection?: { readonly stream: { destroy: () => void } } }

/**
 * A client that closes its connection when it cannot log in. The pool forgets such a client, and `pg` leaves its socket
 * open if it gives up itself, for example without a password. The process would then not end until the server closes
 * the socket, after a minute.
 */
export function closingClient(Base: typeof Client): PoolConfig['Client'] {
  class ClosingClient extends Base {
    override connect(): Promise<Client>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<Client> | undefined {
      // The pool passes a callback.
      if (callback === undefined) return super.connect()
      super.connect((error: Error | null) => {
        if (error) (this as Connected).connection?.stream.destroy()
        callback(error as Error)
      })
      return undefined
    }
  }
  return ClosingClient
}
