#!/bin/sh
# Installs Sotto from a release, after it has checked the signature of the release and the
# checksum of the archive:
#
#     sh install.sh                        sotto and sotto-gateway into /usr/local/bin, or ~/.local/bin
#     sh install.sh --to DIR               into another folder
#     sh install.sh --only sotto-gateway   one of the two programs
#     sh install.sh --from URL             from a copy of the release, such as a mirror
#     sh install.sh --key FILE             with the maintainers' key from FILE, not the one below
#
# It needs curl or wget, tar, and ssh-keygen of OpenSSH. It changes nothing but the programs
# in that folder. If something is wrong, it installs nothing. The key below is that of the
# release that this file came with: compare it with the key in the repository.
set -eu

version='@VERSION@'
key='@KEY@'
from=https://github.com/sotto-llm/sotto/releases/download/v$version
to=
programs='sotto sotto-gateway'
temporary=

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

usage() {
	sed -n 's/^# \{0,1\}//; 2,13p' "$0"
	exit "$1"
}

has() { command -v "$1" >/dev/null 2>&1; }

# download fetches a file of the release, of 200 MB at most, by HTTPS. A server on this
# machine and a folder need no HTTPS.
download() { # name
	case $from in
	https://*) protocol='=https' ;;
	http://127.0.0.1:* | http://localhost:*) protocol='=http' ;;
	file://*)
		head -c 200000000 "${from#file://}/$1" >"$temporary/$1" || fail "$from has no $1"
		return
		;;
	*) fail "--from needs an address with https:// or file://, not $from" ;;
	esac
	if has curl; then
		curl -fsSL --proto "$protocol" --proto-redir "$protocol" --max-filesize 200000000 --connect-timeout 30 --max-time 900 -o "$temporary/$1" "$from/$1" || fail "cannot download $from/$1"
	elif has wget; then
		wget -q -T 30 -O - "$from/$1" | head -c 200000000 >"$temporary/$1"
		[ -s "$temporary/$1" ] || fail "cannot download $from/$1"
	else
		fail "needs curl or wget"
	fi
}

sum() { # file
	if has sha256sum; then
		sha256sum <"$1"
	elif has shasum; then
		shasum -a 256 <"$1"
	else
		fail "needs sha256sum or shasum"
	fi | cut -c 1-64
}

platform() {
	case $(uname -s) in
	Linux) system=linux ;;
	Darwin) system=darwin ;;
	*) fail "there is no archive for $(uname -s) that this script can install; on Windows use Scoop, or the zip" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) machine=amd64 ;;
	aarch64 | arm64) machine=arm64 ;;
	*) fail "there is no archive for the processor $(uname -m)" ;;
	esac
	echo "${system}_$machine"
}

# verify checks the signature of the list of checksums, and the archive by the list.
verify() { # archive
	[ -n "$key" ] && [ "${key#@}" = "$key" ] || fail "there is no key in this file: name one with --key"
	has ssh-keygen || fail "needs ssh-keygen, which is part of OpenSSH (openssh-client), to check the signature"
	printf 'sotto-release %s\n' "$key" >"$temporary/key"
	ssh-keygen -Y verify -f "$temporary/key" -I sotto-release -n file -s "$temporary/checksums.txt.sig" <"$temporary/checksums.txt" >/dev/null 2>&1 ||
		fail "the signature of checksums.txt is not by the maintainers' key: nothing was installed"
	want=$(awk -v name="$1" '$2 == name { print $1 }' "$temporary/checksums.txt")
	[ -n "$want" ] || fail "checksums.txt does not list $1"
	[ "$(sum "$temporary/$1")" = "$want" ] || fail "$1 is not the file that was signed: nothing was installed"
}

main() {
	while [ $# -gt 0 ]; do
		case $1 in
		-h | --help) usage 0 ;;
		--to | --only | --from | --key) [ $# -ge 2 ] || fail "$1 needs a value" ;;
		*) fail "unknown argument $1: --help shows what there is" ;;
		esac
		case $1 in
		--to) to=$2 ;;
		--from) from=${2%/} ;;
		--key) key=$(sed 's/^sotto-release //; q' "$2") || fail "cannot read $2" ;;
		--only)
			case $2 in
			sotto | sotto-gateway) programs=$2 ;;
			*) fail "--only is for sotto or sotto-gateway, not $2" ;;
			esac
			;;
		esac
		shift 2
	done
	if [ -z "$to" ]; then
		to=/usr/local/bin
		[ -w "$to" ] || to=${HOME:?needs HOME, or --to DIR}/.local/bin
	fi
	mkdir -p "$to" || fail "cannot make the folder $to"

	# In the same file system, so that a program is replaced in one step.
	temporary=$(mktemp -d "$to/.sotto.XXXXXX") || fail "cannot write to $to: name another folder with --to"
	trap 'rm -rf "$temporary"' EXIT
	trap 'exit 1' HUP INT TERM

	archive=sotto_${version}_$(platform).tar.gz
	for name in checksums.txt checksums.txt.sig "$archive"; do download "$name"; done
	verify "$archive"
	# shellcheck disable=SC2086 # two words
	tar -xzf "$temporary/$archive" -C "$temporary" $programs || fail "cannot unpack $archive"
	for name in $programs; do
		says=$("$temporary/$name" version) || fail "$name does not run on this machine: nothing was installed"
	done
	for name in $programs; do mv -f "$temporary/$name" "$to/$name"; done
	echo "$says"
	echo "installed in $to: $programs"
	case :$PATH: in
	*":$to:"*) ;;
	*) echo "$to is not in your PATH: add it, or run $to/${programs%% *}" ;;
	esac
}

main "$@" # at the end: a file that was cut does nothing
