import type { ErrorRegistry } from '@latchkey/algorand'

/** Every error code that functions of this package throw, with its meaning and what to do about it. */
export const errors = {
  flock_missing: {
    message: 'the command flock, which locks files, is not installed',
    hint: 'install the package util-linux',
  },
  lock_failed: {
    message: 'the file system did not grant the lock',
    hint: 'use a path on a local file system; network file systems may not support locks',
  },
  locked: {
    message: 'another process holds the lock',
    hint: 'stop that process, or use another path',
  },
  sqlite_missing: {
    message: 'SQLite is not installed',
    hint: 'run `npm install @photostructure/sqlite@1.2.1`, or use Node 22.16 or later',
  },
  write_incomplete: {
    message: 'the file system wrote only part of the data',
    hint: 'free disk space and try again',
  },
} as const satisfies ErrorRegistry

/** One of the codes of this package. */
export type ErrorCode = keyof typeof errors
