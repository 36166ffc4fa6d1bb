#!/bin/sh
# Sees to it that the tests can have a browser: nothing to do where TOCSIN_TEST_CHROMIUM names one or one is
# installed; otherwise Chromium is installed with the system's package manager, as root or where sudo asks for
# no password. Fails, and says what is missing, where that cannot be.
set -eu

there() {
	[ -n "${TOCSIN_TEST_CHROMIUM:-}" ] && return 0
	for name in chromium chromium-browser google-chrome google-chrome-stable; do
		command -v "$name" >/dev/null 2>&1 && return 0
	done
	return 1
}

if there; then exit 0; fi

if [ "$(id -u)" -eq 0 ]; then
	root=
elif sudo -n true 2>/dev/null; then
	root='sudo -n'
else
	root=no
fi

# The package manager, when there is one and this user may use it.
may() { command -v "$1" >/dev/null 2>&1 && [ "$root" != no ]; }

exec </dev/null
echo 'installing Chromium for the tests' >&2
# $root is empty or two words, on purpose.
# shellcheck disable=SC2086
if may apt-get; then
	# Stale lists may do, and if they do not, installing fails and says so.
	$root apt-get update -q >&2 || true
	$root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium fonts-dejavu-core >&2 || true
elif may apk; then
	$root apk add chromium >&2 || true
elif may dnf; then
	$root dnf install -y chromium >&2 || true
fi

there || {
	echo 'no browser: install Chromium, or set TOCSIN_TEST_CHROMIUM to the path of its program' >&2
	exit 1
}
