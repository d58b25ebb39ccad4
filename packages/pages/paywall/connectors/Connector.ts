/**
 * The interface between the page and the code of one wallet. Each wallet's module is a separate file that is loaded
 * when the person chooses the wallet, so the two share types but no code.
 */

export type ConnectorOptions = {
  /** The name of the site that the wallet shows. */
  readonly siteName: string
  readonly network: { readonly genesisId: string /** In base64. */; readonly genesisHash: string }
  /**
   * The key daemon to connect to, and how the page asks for a wallet and its password. Used only by the connector
   * `kmd`.
   */
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
   * Signs one transaction of a group for one of the addresses, with the whole group visible to the wallet. Resolves to
   * signed transactions; unsigned ones may be missing or null.
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
  /** Rejects with the error of the wallet, or with a {@link ConnectorFailure}. */
  readonly connect: (options: ConnectorOptions) => Promise<Connection>
  /** Whether the wallet opens a window, which browsers allow only for a short time after a click. */
  readonly opensWindow?: () => boolean
}

/**
 * An error with a dedicated text in the page, by `code`. It is recognized by its shape, because the two share no class.
 */
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
