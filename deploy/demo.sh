#!/bin/sh
# Starts the demo: SQLite below ./data, the tenants of configs/demo.yaml, and a key that may do everything in
# the organization acme. Running it again keeps all of it. `make run` builds the program and calls this.
#
# DEMO_DATA names another folder, TOCSIN_LISTEN another address than 127.0.0.1:8080, DEMO_PROGRAM another program.
set -eu
cd "$(dirname "$0")/.."

data=${DEMO_DATA:-data}
tocsin=${DEMO_PROGRAM:-bin/tocsin}
export TOCSIN_DATABASE_URL="sqlite:$data/tocsin.db"
export TOCSIN_LISTEN="${TOCSIN_LISTEN:-127.0.0.1:8080}"
key_file=$data/demo.key

mkdir -p "$data"
chmod 700 "$data"

# A key belongs to its database: when that one is gone, so is the key.
[ -e "$data/tocsin.db" ] || rm -f "$key_file"

"$tocsin" apply -f configs/demo.yaml

if [ ! -s "$key_file" ]; then
	# The plain name is taken where the file was lost and the database was not.
	key=$("$tocsin" key create --name demo --org acme --grant full_access 2>/dev/null) ||
		key=$("$tocsin" key create --name "demo-$(date +%Y%m%d%H%M%S)" --org acme --grant full_access)
	rm -f "$key_file"
	(umask 077 && printf '%s\n' "$key" >"$key_file")
fi
key=$(cat "$key_file")

# The console's administrator is made once; the password is shown this once and kept nowhere.
password=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
reason=$(printf '%s\n' "$password" | "$tocsin" admin create --username admin --password-stdin 2>&1 >/dev/null) ||
	case $reason in
	*'sets another password'*) password= ;; # There is one already.
	*)
		printf '%s\n' "$reason" >&2
		exit 1
		;;
	esac

# Where a client on this machine reaches the server: an empty host is every address.
case $TOCSIN_LISTEN in
:*) address=127.0.0.1$TOCSIN_LISTEN ;;
0.0.0.0:*) address=127.0.0.1:${TOCSIN_LISTEN##*:} ;;
*) address=$TOCSIN_LISTEN ;;
esac
export TOCSIN_BASE_URL="${TOCSIN_BASE_URL:-http://$address}" # Mails link to it.

if [ -n "$password" ]; then
	cat <<EOF

The console: http://$address/console/

  username  admin
  password  $password   (shown this once; $tocsin admin password sets another)
EOF
fi
cat <<EOF

The demo's key (kept in $key_file):

  $key

Try it in another terminal, in this folder: create a user, see the lists, register somebody with the application "web",
trigger an event, and read the message that came of it.

curl -sS http://$address/api/v1/user/acme/ -H 'Authorization: Key $key' -H 'Content-Type: application/json' -d '{"email": "ada@example.com", "first_name": "Ada"}'
curl -sS http://$address/api/o/acme/p/shop/d/ -H 'Authorization: Key $key'
curl -sS http://$address/api/o/acme/p/shop/a/web/register/ -H 'Authorization: Key $key' -H 'Content-Type: application/json' -d '{"username": "grace", "email": "grace@example.com", "addresses": [{"value": "grace@example.com", "assign_to_preferred_channel": true}], "distribution_list": "customers"}'
curl -sS http://$address/api/o/acme/p/shop/a/web/e/newsletter/trigger/ -H 'Authorization: Key $key' -H 'Content-Type: application/json' -d '{"context": {"title": "Hello", "body": "New in the shop."}}'
TOCSIN_DATABASE_URL=$TOCSIN_DATABASE_URL $tocsin mailbox

The API's reference: http://$address/api/docs/    Ctrl-C stops the server.

EOF
exec "$tocsin" serve
