# SPDX-License-Identifier: MIT
# For scripts that build against a kernel of the Debian 13 folder, $root.

# newest_headers RELEASE ARCHITECTURE: where in there the newest headers of a release are
newest_headers() {
	(cd "$root/usr/src" && echo /usr/src/"$(echo linux-headers-"$1"*-"$2" | tr ' ' '\n' | sort -V | tail -n 1)")
}
