/** Routes, and the router that finds them by path. */
import type { RawAnswer, RawRequest } from '@latchkey/http'
import type { DevnetNode } from '../DevnetNode.js'
import type { Query } from './Parameters.js'

export type RouteContext = {
  readonly request: RawRequest
  readonly node: DevnetNode
  /** The values of the path's parameters, in order. */
  readonly path: readonly string[]
  readonly query: Query
}

export type Route = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Parameters are written in braces. */
  readonly path: string
  /** Used in the description of the API. Routes without a summary are not part of it. */
  readonly summary?: string
  /** The names of the parameters in the query. */
  readonly query?: readonly string[]
  /** `open` requires no token; `cheat` is served only to programs on this machine. */
  readonly access?: 'open' | 'cheat'
  readonly handle: (call: RouteContext) => RawAnswer | Promise<RawAnswer>
}

type AnyRoute = Pick<Route, 'method' | 'path'>
type Entry<R> = {
  readonly pattern: string
  readonly segments: readonly (string | undefined)[]
  readonly routes: Map<string, R>
}

/** The routes of a path, by method: a path without a route for the method gets 405, an unknown path 404. */
export type Match<R extends AnyRoute = Route> = {
  readonly routes: ReadonlyMap<string, R>
  readonly path: readonly string[]
  /** The path with its parameters in braces. */
  readonly pattern: string
}

export class Router<R extends AnyRoute = Route> {
  readonly #byLength = new Map<number, Entry<R>[]>()

  constructor(routes: readonly R[]) {
    for (const route of routes) this.#add(route)
  }

  match(path: string): Match<R> | undefined {
    const segments = path.split('/')
    for (const entry of this.#byLength.get(segments.length) ?? []) {
      const path = parametersOf(entry.segments, segments)
      if (path !== undefined) return { routes: entry.routes, path, pattern: entry.pattern }
    }
    return undefined
  }

  #add(route: R): void {
    const segments = route.path.split('/').map((segment) => (segment.startsWith('{') ? undefined : segment))
    const entries = this.#byLength.get(segments.length) ?? []
    this.#byLength.set(segments.length, entries)
    const same = entries.find((entry) => entry.segments.every((segment, index) => segment === segments[index]))
    if (same !== undefined) same.routes.set(route.method, route)
    else entries.push({ pattern: route.path, segments, routes: new Map([[route.method, route]]) })
    // A literal segment takes precedence over a parameter.
    entries.sort((a, b) => parameters(a) - parameters(b))
  }
}

/** Returns the values of the parameters, or undefined if another segment differs. */
function parametersOf(pattern: Entry<unknown>['segments'], segments: readonly string[]): string[] | undefined {
  const path: string[] = []
  for (let index = 0; index < pattern.length; index++) {
    const segment = segments[index]!
    if (pattern[index] === undefined) path.push(segment)
    else if (pattern[index] !== segment) return undefined
  }
  return path
}

function parameters({ segments }: Pick<Entry<unknown>, 'segments'>): number {
  return segments.filter((segment) => segment === undefined).length
}
