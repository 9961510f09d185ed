#!/usr/bin/env bash
# Brings the programs that tests use: bwrap (the sandbox), busybox (what
# function images are made of), docker-registry (where they are pulled from), node (another gRPC);
# and promtool (Prometheus' own reader of metrics and rules).
# As root on Debian they are brought; elsewhere tests that lack one skip, saying so.
set -euo pipefail
venv=$(realpath "$1")

install=() # into the system
command -v bwrap >/dev/null || install+=(bubblewrap)
command -v node >/dev/null || install+=(nodejs)
command -v npm >/dev/null || install+=(npm)
# Unpacked into the virtual environment: installed, docker-registry and prometheus would start
# services, and busybox-static would replace busybox.
unpack=()
[ -x "$venv/bin/docker-registry" ] || unpack+=(docker-registry)
[ -x "$venv/bin/busybox" ] || unpack+=(busybox-static)
[ -x "$venv/bin/promtool" ] || command -v promtool >/dev/null || unpack+=(prometheus)
[ $((${#install[@]} + ${#unpack[@]})) -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "tests that need these are skipped: ${install[*]} ${unpack[*]}" >&2
  exit 0
fi
apt-get update -q >/dev/null
if [ ${#install[@]} -gt 0 ]; then
  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${install[@]}" >/dev/null
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chown _apt "$work" # who downloads
cd "$work"
for package in "${unpack[@]}"; do
  apt-get download -q "$package" >/dev/null
  dpkg -x "$package"_*.deb .
done
find . -path '*/bin/*' -type f \( -name docker-registry -o -name busybox -o -name promtool \) -exec cp -t "$venv/bin/" {} +
