/**
 * Simulates a file system that loses directory changes that were not synced, which POSIX allows and ext4 with a late
 * commit does. A library loaded before the daemon's own keeps each removed or replaced name until the directory is
 * synced. `cutPower` restores the names that were not synced.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const source = String.raw`
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace {
template <typename T> T next(const char *name) { return reinterpret_cast<T>(dlsym(RTLD_NEXT, name)); }

/* Only what is in the directory of the test is a change that matters. */
bool watched(const char *path) {
  const char *root = getenv("POWER_CUT_ROOT");
  return root != nullptr && path != nullptr && strncmp(path, root, strlen(root)) == 0;
}

/* One line for each change, and for each sync of a directory. */
void record(const std::string &line) {
  const char *log = getenv("POWER_CUT_LOG");
  if (log == nullptr) return;
  int descriptor = next<int (*)(const char *, int, ...)>("open")(log, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (descriptor < 0) return;
  std::string text = line + "\n";
  if (write(descriptor, text.data(), text.size()) < 0) abort();
  close(descriptor);
}

const std::string lost = ".unsynced";

int removeLater(const char *path) {
  struct stat status;
  if (stat(path, &status) != 0) return next<int (*)(const char *)>("unlink")(path);
  record(std::string("unlink ") + path);
  return next<int (*)(const char *, const char *)>("rename")(path, (path + lost).c_str());
}

void synced(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISDIR(status.st_mode)) return;
  char path[PATH_MAX];
  ssize_t length = readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof(path) - 1);
  if (length < 0) return;
  path[length] = 0;
  if (!watched(path)) return;
  record(std::string("sync ") + path);
  DIR *directory = opendir(path);
  if (directory == nullptr) return;
  while (struct dirent *entry = readdir(directory)) {
    std::string name = entry->d_name;
    if (name.size() > lost.size() && name.compare(name.size() - lost.size(), lost.size(), lost) == 0)
      next<int (*)(const char *)>("unlink")((std::string(path) + "/" + name).c_str());
  }
  closedir(directory);
}
} // namespace

extern "C" {
int unlink(const char *path) noexcept {
  return watched(path) && std::string(path).find("-journal") != std::string::npos
             ? removeLater(path)
             : next<int (*)(const char *)>("unlink")(path);
}
int rename(const char *from, const char *to) noexcept {
  int result = next<int (*)(const char *, const char *)>("rename")(from, to);
  if (result == 0 && watched(to)) record(std::string("rename ") + to);
  return result;
}
int mkdir(const char *path, mode_t mode) noexcept {
  int result = next<int (*)(const char *, mode_t)>("mkdir")(path, mode);
  if (result == 0 && watched(path)) record(std::string("mkdir ") + path);
  return result;
}
int fsync(int descriptor) {
  int result = next<int (*)(int)>("fsync")(descriptor);
  if (result == 0) synced(descriptor);
  return result;
}
int fdatasync(int descriptor) {
  int result = next<int (*)(int)>("fdatasync")(descriptor);
  if (result == 0) synced(descriptor);
  return result;
}
}
`

export type PowerCut = {
  /** The environment of a program whose changes can be lost. */
  env: NodeJS.ProcessEnv
  /** Returns the directory changes that the program has not synced. */
  unsynced: () => string[]
  /** Restores names that were removed and not synced. Returns how many. */
  cut: (directory: string) => number
}

/** Returns undefined if there is no compiler to build the library. */
export function powerCut(workspace: string, root: string): PowerCut | undefined {
  const [code, library, log] = ['cut.cpp', 'cut.so', 'changes.log'].map((name) => join(workspace, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(code, source)
  const built = spawnSync('g++', ['-shared', '-fPIC', '-O1', '-o', library, code, '-ldl'], { encoding: 'utf8' })
  if ((built.error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return undefined
  if (built.status !== 0) throw new Error(`g++: ${built.stderr}`)
  return {
    env: { LD_PRELOAD: library, POWER_CUT_ROOT: root, POWER_CUT_LOG: log },
    unsynced: () => unsyncedIn(existsSync(log) ? readFileSync(log, 'utf8') : ''),
    cut: (directory) => putBack(directory),
  }
}

function unsyncedIn(log: string): string[] {
  let waiting: { directory: string; change: string }[] = []
  for (const line of log.split('\n').filter((text) => text !== '')) {
    const [what, path] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]
    if (what === 'sync') waiting = waiting.filter(({ directory }) => directory !== path)
    else waiting.push({ directory: path.slice(0, path.lastIndexOf('/')), change: line })
  }
  return waiting.map(({ change }) => change)
}

function putBack(directory: string): number {
  const names = readdirSync(directory).filter((name) => name.endsWith('.unsynced'))
  for (const name of names) {
    const path = join(directory, name.slice(0, -'.unsynced'.length))
    // A name that was reused since then is left unchanged.
    if (existsSync(path)) rmSync(join(directory, name))
    else renameSync(join(directory, name), path)
  }
  return names.length
}
