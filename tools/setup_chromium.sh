#!/usr/bin/env bash
# Installs Debian's Chromium, in which the tests of the web UI run, where this user may, and axe-core, which checks the
# pages for accessibility, into the directory given as $1. Without them those tests are skipped and say so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$1

if ! command -v chromium >/dev/null; then
    if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
        echo "installing Chromium, the browser of the tests of the web UI"
        export DEBIAN_FRONTEND=noninteractive
        if ! { apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1; then
            echo "Chromium could not be installed: the tests in a browser will be skipped" >&2
        fi
    else
        echo "no Chromium: the tests in a browser will be skipped (Debian: apt-get install chromium)" >&2
    fi
fi
if command -v npm >/dev/null; then
    mkdir -p "$target"
    cp tests/ui/package.json tests/ui/package-lock.json "$target/"
    npm ci --prefix "$target" --ignore-scripts --no-audit --no-fund --loglevel=error ||
        echo "axe-core could not be installed: the check of accessibility will be skipped" >&2
else
    echo "no Node.js: the check of accessibility will be skipped" >&2
fi
