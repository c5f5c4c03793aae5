#!/bin/sh
# Usage: ccache.sh CCACHE COMPILER ARGUMENT...
#
# ccache takes a precompiled header that exists for an input, also where it is to be replaced, and would then give the
# same result however the headers in it have changed. So the old one goes first.

ccache=$1
shift
case " $* " in
*" c++-header "*)
  before=
  for word; do
    if [ "$before" = -o ]; then
      rm -f -- "$word"
    fi
    before=$word
  done
  ;;
esac
exec "$ccache" "$@"
