/**
 * What the page and the code of one wallet know of each other. Each wallet's module is a file of its own that is loaded
 * when the person chooses the wallet, so the two share types and no code.
 */

export type ConnectorOptions = {
  /** How the wallet names the site. */
  readonly siteName: string
  readonly network: { readonly genesisId: string /** In base64. */; readonly genesisHash: string }
  /** The key daemon to connect to, and how the page asks for a wallet and its password. For the connector `kmd` only. */
  readonly kmd?: DaemonAccess | undefined
}

export type DaemonAccess = {
  readonly url: string
  readonly token: string
  readonly wallet?: string | undefined
  readonly promptForPassword: (wallets: readonly string[]) => Promise<{ wallet: string; password: string }>
}

export type Connection = {
  readonly addresses: readonly string[]
  /**
   * Signs one transaction of a group for one of the addresses, with the whole group in view. Resolves to signed
   * transactions; those that were not signed may be missing or null.
   */
  readonly sign: (group: TransactionGroup) => Promise<readonly (Uint8Array | null | undefined)[]>
}

export type TransactionGroup = {
  /** Unsigned, in their canonical encoding. */
  readonly transactions: readonly Uint8Array[]
  readonly index: number
  readonly signer: string
}

/** The module of a wallet. */
export type Connector = {
  /** Rejects with whatever the wallet rejects with, or with a {@link ConnectorFailure}. */
  readonly connect: (options: ConnectorOptions) => Promise<Connection>
  /** Whether the wallet opens a window, which browsers allow only for a short time after a click. */
  readonly opensWindow?: () => boolean
}

/** An error for which the page has a text of its own, by `code`. Told apart by its shape: the two share no class. */
export type ConnectorFailure = { readonly connectorCode: ConnectorFailureCode; readonly detail?: string }

export type ConnectorFailureCode =
  | 'wallet_not_installed'
  | 'wrong_network'
  | 'wrong_password'
  | 'too_many_attempts'
  | 'wallet_not_found'
  | 'daemon_token_rejected'
  | 'daemon_unreachable'
  | 'wallet_failed'
