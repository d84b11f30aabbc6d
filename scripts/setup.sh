#!/bin/sh
# Makes .venv with exactly what uv.lock names. uv comes from PATH, else into .tools of this checkout; no interpreter is ever downloaded.
set -eu
cd "$(dirname "$0")/.."

UV_VERSION=0.13.9
export UV_PYTHON_DOWNLOADS=never

fits() { "$1" -c 'import sys; raise SystemExit(not (3, 11) <= sys.version_info[:2] < (3, 14))' >/dev/null 2>&1; }

python=""
for candidate in python3.13 python3.12 python3.11 python3; do
    if command -v "$candidate" >/dev/null 2>&1 && fits "$candidate"; then
        python=$(command -v "$candidate")
        break
    fi
done
if [ -z "$python" ]; then
    echo "evalplatform needs Python 3.11, 3.12 or 3.13 on PATH; install one (on Debian: apt install python3 python3-venv)." >&2
    exit 2
fi

if command -v uv >/dev/null 2>&1; then
    uv=uv
else
    uv=.tools/bin/uv
    if [ ! -x "$uv" ]; then
        "$python" -m venv .tools 2>/dev/null || {
            echo "evalplatform needs uv, or Python's venv module to fetch it; install one (on Debian: apt install python3-venv)." >&2
            exit 2
        }
        .tools/bin/python -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION" || {
            echo "evalplatform needs uv $UV_VERSION, and pip could not install it; install uv and run this again." >&2
            exit 2
        }
    fi
fi

# Bytecode is compiled once here: where Python may not write it, every command would compile all it imports again.
"$uv" sync --quiet --frozen --all-extras --compile-bytecode --python "$python"
