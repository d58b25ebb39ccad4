/** A gateway: sells an HTTP service that knows nothing of payments. */
export { type Gateway, type GatewayOptions, openGateway, type PayerLimit } from './Gateway.js'
export { Upstream, UpstreamError, type UpstreamOptions } from './Upstream.js'
