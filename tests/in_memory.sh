#!/usr/bin/env bash
# Runs a command with its temporary files in memory, where the machine has room: making and deleting
# thousands of databases' and repositories' files on a disk takes a sixth of the time of tests with real parts.
# They are deleted afterwards, also when the run is interrupted, and kept (saying where) if the command fails.
# usage: in_memory.sh COMMAND [ARGUMENT...]
set -euo pipefail

room=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1 || true)
free=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo 2>/dev/null || true)
needed=$((6 * 1024 * 1024)) # KiB; a whole run takes about one GiB
if [ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || [ "${room:-0}" -lt "$needed" ] || [ "${free:-0}" -lt "$((2 * needed))" ]; then
  exec "$@"
fi

TMPDIR=$(mktemp -d /dev/shm/pb.XXXX) # sockets below it have names of at most 107 characters
export TMPDIR
chmod 755 "$TMPDIR" # PostgreSQL runs as another user
end() {
  if [ "${status:-0}" = 0 ]; then # an interrupted run has no status
    rm -rf "$TMPDIR"
  else
    echo "temporary files of this run are kept in memory until you delete them: $TMPDIR" >&2
  fi
}
trap end EXIT
"$@" || status=$?
exit "${status:-0}"
