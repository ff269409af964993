#!/bin/sh
# Creates the missing secrets of an installation, one file each, in deploy/secrets or the given folder. Existing files are kept.
# Pass your SMTP_URL in the environment. Without a DATABASE_URL there, the database is a Postgres at POSTGRES_HOST, that of
# deploy/compose.yaml by default.
set -eu
umask 077
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
cd "$folder"

# The folder keeps others on this machine out. The files can be read by the account of the container, whatever its number.
keep() {
  if [ ! -s "$1" ]; then
    cat > "$1.new"
    chmod 0444 "$1.new"
    mv "$1.new" "$1"
    echo "made $1"
  fi
}
random() {
  openssl rand -hex 24
}

random | keep postgres-password
postgres="postgres://gatehouse:$(cat postgres-password)@${POSTGRES_HOST:-postgres:5432}/gatehouse"
printf '%s' "${DATABASE_URL:-$postgres}" | keep database-url
random | keep jwt-access-secret
openssl rand -base64 32 | keep encryption-key
random | keep metrics-token
random | keep admin-password
printf '%s' "${SMTP_URL:-smtp://mail:1025}" | keep smtp-url
