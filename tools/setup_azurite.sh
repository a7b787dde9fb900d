#!/usr/bin/env bash
# Installs Azurite, the Azure server that tests start, into the directory given as $1. Without Node.js or without a
# package registry the tests that need it are skipped and say so; nothing else depends on it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$1

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    echo "no Node.js: the tests on Azurite will be skipped" >&2
    exit 0
fi
mkdir -p "$target"
cp tests/azurite/package.json tests/azurite/package-lock.json "$target/"
echo "installing Azurite, an Azure server for the tests"
# Its packages run no scripts of their own here: nothing in them needs to be built.
if ! npm ci --prefix "$target" --ignore-scripts --no-audit --no-fund --loglevel=error; then
    echo "Azurite could not be installed: the tests on it will be skipped" >&2
fi
