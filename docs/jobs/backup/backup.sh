#!/bin/sh
# Packs ./data into ./backups, beside its place first: an archive is whole or not there.
set -eu
file="$1.tar"
tar -cf "backups/.$file.part" data
mv "backups/.$file.part" "backups/$file"
printf '{"file": "%s", "bytes": %d}\n' "$file" "$(wc -c < "backups/$file")"
