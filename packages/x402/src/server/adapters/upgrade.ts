/**
 * Whether a request asks to switch its connection to another protocol, such as WebSocket, whose messages are its
 * answer.
 */
export function isUpgradeRequest({ headers }: Request): boolean {
  const protocols = (headers.get('Upgrade') ?? '').split(',').map((one) => one.trim().toLowerCase())
  // Some clients offer HTTP/2 with every request, and servers continue with HTTP/1.1.
  return protocols.some((protocol) => protocol !== '' && protocol !== 'h2c')
}
