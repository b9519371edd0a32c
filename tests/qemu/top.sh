# SPDX-License-Identifier: MIT
# Runs in the guest: npu-top beside a load of three models on the card, then with the card forbidden, missing,
# reset, without its driver, and dead. Writes TAP without a plan, and files for check-top: "npu-file: NAME BASE64".
. /lib/guest.sh
export TERMINFO=/terminfo LC_ALL=C

mkdir -p /etc /dev/pts /dev/shm
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t devpts devpts /dev/pts
echo "root:x:0:0::/:/bin/sh" >/etc/passwd
echo "user:x:1000:1000::/:/bin/sh" >>/etc/passwd
driver=$(readlink -f /sys/class/accel/accel0/device/driver)
place=$(basename "$(readlink /sys/class/accel/accel0/device)")

hand_over() {
	echo "npu-file: $1 $(gzip -c "$2" | base64 -w 0)"
}

# until COMMAND...: it succeeds within two minutes
until_true() {
	for _ in $(seq 1200); do
		"$@" && return
		sleep 0.1
	done
	return 1
}

# last_event FILE KIND WHAT: the last sample has such an event of the card
last_event() {
	tail -n 1 "$1" | grep -q "\"kind\":\"$2\",\"device\":\"accel0\",\"bus\":\"$place\",\"what\":\"$3\""
}

last_state() {
	tail -n 1 "$1" | grep -q "\"name\":\"accel0\".*\"state\":\"$2\""
}

# ------------------------------------------------------------------------------ three models

# A line of the title, three seconds from now on: the figures of samples before are of less than a whole interval.
title_soon() {
	now=$(date +%s)
	printf '^npu-top - ('
	for ahead in $(seq 3 59); do
		printf '%s|' "$(date -d "@$((now + ahead))" +%H:%M:%S)"
	done
	printf 'never)'
}

# capture COLUMNS LINES: a screen with figures. On a busy machine npu-top may take until then to begin.
capture() {
	screen "$1" "$2" 60 "$(title_soon)" npu-top -d 0.5 --no-color --device accel0 >/tmp/screen &&
		grep -qE "^ *$load +[^ ]+ +[0-9.]+% +[0-9.]+k? .* fast\$" /tmp/screen
}

mkfifo /tmp/keys
npu-load accel0 </tmp/keys >/tmp/load &
load=$!
exec 3>/tmp/keys
result "the load begins" until_true grep -q ready /tmp/load
npu-top --json -d 0.5 --device accel0 >/tmp/samples &
watcher=$!
for size in "80 24" "200 60"; do
	for turn in 1 2 3; do
		# shellcheck disable=SC2086
		until_true capture $size
		cut -d ' ' -f 1 /proc/uptime >>/tmp/screen
		hand_over "screen.${size% *}.$turn" /tmp/screen
	done
done
echo >&3
result "the load ends" until_true grep -q '^]}' /tmp/load
kill $watcher
wait $watcher
result "SIGTERM ends a batch with 0" test $? = 0
sleep 1
npu-top --json -n 1 -d 0.2 --device accel0 >/tmp/resting
echo "$load" >/tmp/pid
for name in pid load samples resting; do
	hand_over $name /tmp/$name
done
exec 3>&-
wait $load

# ---------------------------------------------------------------------------- what is the matter

# ends STATUS TEXT COMMAND...: with this status, and says the text on standard error
ends() {
	wanted=$1
	text=$2
	shift 2
	"$@" >/tmp/out 2>/tmp/err
	status=$?
	echo "expected status $wanted and '$text', got $status and: $(cat /tmp/err)"
	[ $status = "$wanted" ] && grep -q "$text" /tmp/err
}

# also_ends: the same, and writes this on standard output, too
also_ends() {
	also=$1
	shift
	ends "$@" || return 1
	echo "expected '$also' in: $(cat /tmp/out)"
	grep -q "$also" /tmp/out
}

once="-n 1 -d 0.1 --device accel0"
chmod 0660 /dev/accel/accel0
denied="this user may not open it: join the group"
result "forbidden: npu-ctl" ends 4 "$denied" su user -c "npu-ctl info --device accel0"
result "forbidden: npu-run" ends 4 "$denied" su user -c "npu-run --device accel0 /none"
result "forbidden: npu-top, text" also_ends "driver: working  busy .*  memory [0-9]" 4 "$denied" \
	su user -c "npu-top -b $once"
result "forbidden: npu-top, JSON" also_ends '"state":"denied".*"driver_state":"working".*"memory_bytes":[0-9]' 4 \
	"$denied" su user -c "npu-top --json $once"
result "forbidden: npu-top, CSV" also_ends '^[0-9]*,"device","accel0",.*"denied"' 4 "$denied" \
	su user -c "npu-top --csv $once"
result "forbidden: npu-top, Prometheus" also_ends '^npu_memory_bytes{device="accel0".*} [0-9]' 4 "$denied" \
	su user -c "npu-top --prom $once"
result "forbidden: npu-top of whatever there is" says '"state":"denied"' su user -c "npu-top --json -n 1 -d 0.1"
result "forbidden: the screen says what to do" \
	screen 80 24 60 "join the group" su user -c "TERM=xterm TERMINFO=/terminfo npu-top --device accel0"

result "missing: npu-ctl" ends 3 "modprobe npu" npu-ctl info --device accel7
result "missing: npu-run" ends 3 "modprobe npu" npu-run --device accel7 /none
for mode in -b --json --csv --prom; do
	result "missing: npu-top $mode" ends 3 "modprobe npu" npu-top $mode -n 1 -d 0.1 --device accel7
done

# Everybody is told of events, also who may not open the card.
su user -c "exec npu-top --json -d 0.2 --device accel0" >/tmp/events 2>/dev/null &
watcher=$!
npu-top -b -d 0.2 --device accel0 >/tmp/events.text &
text_watcher=$!
npu-top --csv -d 0.2 --device accel0 >/tmp/events.csv &
csv_watcher=$!
for file in events events.text events.csv; do
	until_true grep -q accel0 /tmp/$file
done
result "events: none, and none is missing" \
	says '"events":\[\],"events_missing":""' tail -n 1 /tmp/events
npu-ctl reset --device accel0 >/dev/null
result "events: a reset's, JSON" until_true last_event /tmp/events wedged none
result "events: a reset's, text" until_true grep -q "^Event .*: accel0 was reset" /tmp/events.text
result "events: a reset's, CSV" until_true grep -q '"event","accel0",.*"wedged",1,' /tmp/events.csv
sleep 1
result "events: CSV has each once" test "$(grep -c '"event"' /tmp/events.csv)" = 1
kill $watcher $text_watcher $csv_watcher
wait $watcher $text_watcher $csv_watcher
# Whether the screen listens already is not to be seen from here: once more until it has been told.
{
	screen 80 24 60 "^Event .*: accel0 was reset" npu-top -d 0.3 --device accel0 >/tmp/screen
	touch /tmp/screen.ended
} &
until [ -e /tmp/screen.ended ]; do
	npu-ctl reset --device accel0 >/dev/null
	sleep 2
done
result "events: a reset's, on the screen" grep "^Event .*: accel0 was reset" /tmp/screen
sed 's/^/# /' /tmp/screen
result "after a reset: npu-top, JSON" says '"state":"well".*"last_failure":"somebody asked for a reset","resets":[1-9]' \
	npu-top --json $once
result "after a reset: npu-top, text" says "resets [1-9][0-9]* (somebody asked for a reset)" npu-top -b $once

# One npu-top sees the driver go, come back and go, and ends then; so does one that nobody reads.
npu-top --json -d 0.2 --device accel0 >/tmp/states 2>/tmp/said &
watcher=$!
screen 80 24 60 "it has gone" npu-top -d 0.3 --device accel0 >/tmp/screen &
on_screen=$!
until_true last_state /tmp/states well
until_true grep -q . /tmp/states
sleep 2
echo "$place" >"$driver/unbind"
result "unbound: npu-top goes on" until_true last_state /tmp/states gone
wait $on_screen
result "unbound: the screen says so" grep -q "modprobe" /tmp/screen
sed 's/^/# /' /tmp/screen
result "unbound: npu-top begins" ends 3 "modprobe npu" npu-top --json $once
echo "$place" >"$driver/bind"
result "bound again: npu-top goes on" until_true last_state /tmp/states well
result "bound again: npu-top begins" says '"state":"well"' npu-top --json $once
echo "$place" >"$driver/unbind"
result "unbound again" until_true last_state /tmp/states gone
kill $watcher
wait $watcher
result "unbound: how npu-top ends" test $? = 6
said_twice() {
	cat /tmp/said
	test "$(grep -c "^npu-top: accel0: it has gone" /tmp/said)" = 2
}
result "unbound: npu-top says it each time" said_twice
echo "$place" >"$driver/bind"

npu-top --json -d 0.2 --device accel0 >/tmp/states 2>/tmp/said &
watcher=$!
until_true last_state /tmp/states well
# QEMU does not survive that the card's program ends under a message to it: nobody sends one.
kill -STOP $watcher
sleep 1
echo "npu-host: kill-device"
sleep 2
kill -CONT $watcher
# It is found out when its firmware has something to answer: npu-run is the first to ask.
result "dying: npu-run" ends 6 "no context on the device" npu-run --device accel0 /none
result "dead: npu-top goes on" until_true last_state /tmp/states dead
result "dead: its uevent" until_true last_event /tmp/states wedged rebind
result "dead: its health report" until_true last_event /tmp/states health '[a-z]*'
echo "# events: $(tail -n 1 /tmp/states | grep -o '"events":.*')"
echo "# states: $(grep -o '"state":"[a-z]*"' /tmp/states | uniq | tr '\n' ' ')"
remedy="unbind its driver and bind it, or switch its power off and on"
result "dead: npu-top says so" grep -q "^npu-top: accel0: it is dead (.*$remedy" /tmp/said
result "dead: npu-top begins" ends 6 "it is dead (.*$remedy" npu-top --json $once
result "dead: npu-ctl" ends 6 "it is dead: $remedy" npu-ctl errors --device accel0
result "dead: npu-ctl of the device" ends 6 "accel0" npu-ctl info --device accel0
result "dead: npu-run" ends 6 "accel0" npu-run --device accel0 /none
screen 80 24 60 "power off and on" npu-top --device accel0 >/tmp/screen
result "dead: the screen says what helps" test $? = 0
sed 's/^/# /' /tmp/screen
result "dead: its driver can be unloaded beside npu-top" rmmod npu
result "dead: npu-top goes on without its driver" until_true last_state /tmp/states gone
kill $watcher
wait $watcher
result "dead: how npu-top ends" test $? = 6
exit $failed
