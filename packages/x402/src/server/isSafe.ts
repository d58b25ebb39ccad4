/** Whether the method changes nothing, so that its handler may run again. */
export function isSafe({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD'
}
