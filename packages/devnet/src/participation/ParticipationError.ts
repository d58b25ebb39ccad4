/** A participation key that the node does not take: it never leaves the package. */
export class ParticipationError extends Error {
  override name = 'ParticipationError'
}
