#!/bin/sh
# Runs a command of the service, such as `gatehouse check`, with the account, settings and secrets of gatehouse.service, including
# those that `systemctl edit` added. Install it as /usr/local/sbin/gatehouse and run it as root. It starts in /var/lib/gatehouse,
# the only folder where the account may write.
set -eu
unit=gatehouse-command-$$
# A unit without User= has the account of its name. Units that name the same dynamic account share it.
set -- --unit="$unit" --property=User=gatehouse /usr/bin/node /opt/gatehouse/dist/gatehouse.js "$@"
kept='DynamicUser|StateDirectory|WorkingDirectory|UMask|Environment|EnvironmentFile|LoadCredential'
while IFS= read -r line; do
  set -- --property="$line" "$@"
done <<EOF
$(systemctl cat gatehouse.service | grep -E "^($kept)=" | sed "s#%d#/run/credentials/$unit.service#g" | tac)
EOF
exec systemd-run --quiet --pipe --wait --collect "$@"
