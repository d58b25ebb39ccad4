/**
 * Replaces algosdk in the libraries of Pera and Defly, which need all of it to encode a transaction. Our transactions
 * are already encoded. The build rejects a version of the libraries that uses more of algosdk.
 */

/** Replaces algosdk's transaction. */
export type EncodedTransaction = { readonly bytes: Uint8Array }

export const encodeUnsignedTransaction = ({ bytes }: EncodedTransaction): Uint8Array => bytes

// biome-ignore lint/style/noDefaultExport: the libraries import algosdk's default export.
export default { encodeUnsignedTransaction }
