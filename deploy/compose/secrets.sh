#!/bin/sh
# Creates the secrets of compose.yaml. Existing files are not changed. Put the mnemonic of the account that pays fees into
# secrets/fee-mnemonic, which is created empty.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
cd secrets

# 32 random bytes, in characters that need no escaping in a URL.
random() {
  od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}

# Containers read the files as other users; the mode of the directory keeps everyone else out.
write() {
  [ -e "$1" ] || (umask 022 && printf '%s\n' "$2" > "$1")
}

for name in owner-password facilitator-password api-keys grafana-password; do
  write "$name" "$(random)"
done
write owner-store "postgres://latchkey_owner:$(cat owner-password)@database/latchkey?sslmode=disable"
write facilitator-store "postgres://latchkey_facilitator:$(cat facilitator-password)@database/latchkey?sslmode=disable"
[ -e fee-mnemonic ] || (umask 022 && : > fee-mnemonic)
[ -s fee-mnemonic ] || echo "put the 25 words of the account that pays fees into $PWD/fee-mnemonic" >&2
# Also applies to a file that was written by hand.
chmod 0644 fee-mnemonic
