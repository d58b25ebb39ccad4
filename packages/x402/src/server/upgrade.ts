/** Whether a request asks for another protocol on its connection, like WebSocket, whose messages are its answer. */
export function isUpgradeRequest({ headers }: Request): boolean {
  const protocols = (headers.get('Upgrade') ?? '').split(',').map((one) => one.trim().toLowerCase())
  // Some clients offer HTTP/2 with every request; servers go on with HTTP/1.1.
  return protocols.some((protocol) => protocol !== '' && protocol !== 'h2c')
}
