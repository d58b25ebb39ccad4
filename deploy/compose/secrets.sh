#!/bin/sh
# Makes the secrets of compose.yaml, once. Files that are there stay as they are. The 25 words of the account that pays fees are
# yours: put them into secrets/fee-mnemonic, which is empty at first.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
cd secrets

# 32 random bytes, in letters that need no escaping in an address.
random() {
  od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}

# Containers read them as other users than yours; the directory keeps everyone else out.
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
# Also one that was written by hand.
chmod 0644 fee-mnemonic
