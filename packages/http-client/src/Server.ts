/** The place that requests are sent to. */

/** A host and port, or a Unix socket. */
export type Server = {
  readonly isSecure: boolean
  /** A name or an IP address, without brackets. */
  readonly host: string
  readonly port: number
  /** Host and port as in a URL. */
  readonly authority: string
  /** The path of a Unix socket, used instead of host and port. Node only. */
  readonly socketPath?: string | undefined
}

/** The server of an http or https URL. */
export function fromUrl({ protocol, hostname, port, host }: URL): Server {
  const isSecure = protocol === 'https:'
  return {
    isSecure,
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    authority: host,
  }
}

/** The name under which connections to the server are kept. */
export function keyOf({ isSecure, authority, host, port, socketPath }: Server): string {
  return socketPath === undefined ? `${isSecure ? 'https' : 'http'}://${host}:${port} ${authority}` : socketPath
}
