#!/bin/sh
# Stands for your own: puts a commit into place and says what it did.
set -eu
mkdir "releases/$1"
echo "deployed $1" > "releases/$1/version"
echo "switching to $1" >&2
printf '{"release": "%.7s", "seconds": 1}\n' "$1"
