# shellcheck shell=bash
# Sourced by every script here: strict mode, the repository root as working directory, --help, headings.
# --help prints the comment at the top of the script, so help and documentation are one text.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# One job per processor, at least one.
MUSTER_JOBS="${MUSTER_JOBS:-$(nproc)}"
export MUSTER_JOBS

say() { printf '\n== %s\n' "$*"; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 2
}

usage() { sed -n '2,/^[^#]/{/^#/!q;s/^# \{0,1\}//;p}' "$1"; }

# Prints the help of script $1 and leaves when one of the remaining arguments asks for it.
help_if_asked() {
  local script=$1
  shift
  for argument in "$@"; do
    if [[ $argument == -h || $argument == --help ]]; then
      usage "$script"
      exit 0
    fi
  done
}
