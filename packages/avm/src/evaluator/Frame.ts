/** A call of a subroutine. */
export type Frame = {
  /** The instruction after the `callsub`. */
  readonly returnPc: number
  /** The height of the stack at the call. */
  readonly height: number
  /** The arguments and results that `proto` declared, or undefined without `proto`. */
  signature: { readonly args: number; readonly results: number } | undefined
}
