#!/usr/bin/env bash
# Brings the programs that tests of the function runner use: bwrap (the sandbox), busybox (what
# function images are made of), docker-registry (where they are pulled from), node (another gRPC).
# As root on Debian they are installed; elsewhere tests that lack one skip, saying so.
set -euo pipefail
venv=$(realpath "$1")

packages=()
command -v bwrap >/dev/null || packages+=(bubblewrap)
[ -x /bin/busybox ] || packages+=(busybox-static)
command -v node >/dev/null || packages+=(nodejs)
command -v npm >/dev/null || packages+=(npm)
registry=docker-registry
command -v $registry >/dev/null || [ -x "$venv/bin/$registry" ] || registry=
[ ${#packages[@]} -gt 0 ] || [ -z "$registry" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "tests that need these are skipped: ${packages[*]} ${registry:-docker-registry}" >&2
  exit 0
fi
apt-get update -q >/dev/null
if [ ${#packages[@]} -gt 0 ]; then
  apt-get install -qy --no-install-recommends "${packages[@]}" >/dev/null
fi
if [ -z "$registry" ]; then
  # Unpacked, not installed: the package would start a registry of its own on machines with systemd.
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  chmod 755 "$work" # apt reads it as a user of its own
  (cd "$work" && apt-get download -q docker-registry >/dev/null && dpkg -x docker-registry_*.deb .)
  cp "$work/usr/bin/docker-registry" "$venv/bin/"
fi
