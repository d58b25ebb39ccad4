// Runs before anything else is loaded, so it is written for Node 12.
'use strict'

const oldest = [20, 19]

function isSupported(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > oldest[0] || (major === oldest[0] && minor >= oldest[1])
}

/** Prints one line and returns false if Node is too old. */
function checkNode(version) {
  if (isSupported(version)) return true
  process.stderr.write(
    `latchkey needs Node ${oldest.join('.')} or newer, and this is Node ${version}; see https://nodejs.org\n`,
  )
  // The exit code of `latchkey` for a failure, and of `kmd` for a failed start.
  process.exitCode = 3
  return false
}

exports.isSupported = isSupported
exports.checkNode = checkNode
