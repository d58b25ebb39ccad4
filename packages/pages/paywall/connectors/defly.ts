import { DeflyWalletConnect } from '@blockshake/defly-connect'
import type { Connection, ConnectorOptions } from './Connector.js'
import { connectWith } from './walletConnect.js'

export const connect = (options: ConnectorOptions): Promise<Connection> =>
  connectWith('Defly', (client) => new DeflyWalletConnect(client), options)
