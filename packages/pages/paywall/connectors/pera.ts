import { PeraWalletConnect } from '@perawallet/connect'
import type { Connection, ConnectorOptions } from './Connector.js'
import { connectWith } from './walletConnect.js'

export const connect = (options: ConnectorOptions): Promise<Connection> =>
  connectWith('Pera', (client) => new PeraWalletConnect(client), options)
