/**
 * Finds the files of a program that another user could replace. A service runs the files present at its next start, so
 * a user who can write to a file, or to any directory above it, gets the rights of the service.
 */
import { lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs'
import { dirname, join, parse, resolve, sep } from 'node:path'
import { dependencyDirectories, packageDirectory } from './dependencyDirectories.js'

/** The users and groups that may own files and write to them. */
export type Trust = {
  /** Owners of files and directories. */
  readonly owners: ReadonlySet<number>
  /** Groups that may write. An access control list can hide behind the group bits. */
  readonly groups: ReadonlySet<number>
  /**
   * Whether a directory may be world-writable if it is sticky like /tmp, where others can add files but replace none.
   *
   * @default false
   */
  readonly allowSticky?: boolean | undefined
}

/** A path that another user can replace. */
export type Replaceable = { readonly path: string; readonly reason: string }

/** Like `lstatSync`, for tests. */
export type Lstat = (path: string) => Pick<Stats, 'uid' | 'gid' | 'mode' | 'isSymbolicLink' | 'isDirectory'>

/** Trusts only root as owner and writer. */
export const rootAlone: Trust = { owners: new Set([0]), groups: new Set() }

const maxLinks = 40
const maxFiles = 500_000
const groupWrite = 0o020
const otherWrite = 0o002
const sticky = 0o1000

function first<T>(list: readonly string[], find: (path: string) => T | undefined): T | undefined {
  for (const path of list) {
    const found = find(path)
    if (found !== undefined) return found
  }
  return undefined
}

export class ReplaceableFiles {
  readonly #trust: Trust
  readonly #lstat: Lstat
  readonly #trees = new Set<string>()
  #files = 0

  constructor(trust: Trust, lstat: Lstat = lstatSync) {
    this.#trust = trust
    this.#lstat = lstat
  }

  /**
   * Checks every directory on the path to a file, links and their targets, and the file. Missing entries are skipped.
   */
  onPath(path: string): Replaceable | undefined {
    let links = 0
    const { root } = parse(resolve(path))
    const left = resolve(path).slice(root.length).split(sep).filter(Boolean)
    let current = root
    let found = this.#entry(current)
    while (found === undefined && left.length > 0) {
      const next = join(current, left.shift()!)
      const stats = this.#stats(next)
      if (stats === undefined) return undefined
      found = this.#judge(next, stats)
      if (!stats.isSymbolicLink()) {
        current = next
        continue
      }
      if (++links > maxLinks) return { path, reason: 'is a circular link' }
      const target = resolve(current, readlinkSync(next))
      left.unshift(...target.slice(root.length).split(sep).filter(Boolean))
      current = root
    }
    return found
  }

  /** Checks the package of a script with all of its files, and the packages that it depends on. */
  ofPackage(script: string): Replaceable | undefined {
    const found = this.onPath(script)
    if (found !== undefined) return found
    const directory = packageDirectory(script)
    if (directory === undefined) return this.#inTree(dirname(script))
    const { packages, searched } = dependencyDirectories(directory)
    return (
      first([...packages, ...searched], (path) => this.onPath(path)) ?? first(packages, (path) => this.#inTree(path))
    )
  }

  #inTree(directory: string): Replaceable | undefined {
    if (this.#trees.has(directory)) return undefined
    this.#trees.add(directory)
    for (const { name } of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, name)
      if (++this.#files > maxFiles) return { path: directory, reason: `is one of more than ${maxFiles} files` }
      const stats = this.#stats(path)
      if (stats === undefined) continue
      const found =
        this.#judge(path, stats) ??
        (stats.isSymbolicLink() ? this.onPath(path) : stats.isDirectory() ? this.#inTree(path) : undefined)
      if (found !== undefined) return found
    }
    return undefined
  }

  #entry(path: string): Replaceable | undefined {
    const stats = this.#stats(path)
    return stats === undefined ? undefined : this.#judge(path, stats)
  }

  #stats(path: string): ReturnType<Lstat> | undefined {
    try {
      return this.#lstat(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  #judge(path: string, stats: ReturnType<Lstat>): Replaceable | undefined {
    const { owners, groups, allowSticky = false } = this.#trust
    if (!owners.has(stats.uid)) return { path, reason: `is owned by user ${stats.uid}` }
    // A link has no meaningful mode.
    if (stats.isSymbolicLink()) return undefined
    if (allowSticky && stats.isDirectory() && (stats.mode & sticky) !== 0) return undefined
    if ((stats.mode & otherWrite) !== 0) return { path, reason: 'is writable by every user' }
    if ((stats.mode & groupWrite) === 0 || groups.has(stats.gid)) return undefined
    return { path, reason: `is writable by group ${stats.gid}` }
  }
}
