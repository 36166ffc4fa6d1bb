#!/bin/sh
# Sees to it that the tests can have a PostgreSQL: nothing to do where TOCSIN_TEST_POSTGRES names one or
# the server's programs are installed; otherwise they are installed with the system's package manager,
# as root or where sudo asks for no password. Fails, and says what is missing, where that cannot be.
#
#   install.sh WITHPOSTGRES   the program that knows where to look
set -eu

[ -z "${TOCSIN_TEST_POSTGRES:-}" ] || exit 0
if "$1" -find >/dev/null 2>&1; then exit 0; fi

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
echo 'installing PostgreSQL for the tests' >&2
# $root is empty or two words, on purpose.
# shellcheck disable=SC2086
if may apt-get; then
	# Stale lists may do, and if they do not, installing fails and says so.
	$root apt-get update -q >&2 || true
	$root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends postgresql >&2 || true
elif may apk; then
	$root apk add postgresql >&2 || true
elif may dnf; then
	$root dnf install -y postgresql-server >&2 || true
elif command -v brew >/dev/null 2>&1; then
	brew install postgresql@17 >&2 || true
fi

# The last word: found now, or what is missing and how to get it.
"$1" -find >/dev/null || {
	echo 'or set TOCSIN_TEST_POSTGRES to the URL of a server on which databases may be created' >&2
	exit 1
}
