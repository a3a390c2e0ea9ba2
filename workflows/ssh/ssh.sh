#!/bin/bash
# A command of tidalign's on hosts that SSH reaches without a password: workers are there for as long as it runs.
#
#   HOSTS="node1 node2" ssh.sh genomes --all-vs-all targets.fa queries.fa -o out --merge --device gpu
#   HOSTS="node1 node2" ssh.sh pairs reads.fq windows.fa -o out.sam --device cpu
#
# Every host sees the inputs, the output, this folder and the environment that tidalign is installed in, at the same paths. With `--device gpu` a worker for each
# GPU, else for each processor. SSH: the command that reaches a host. ADDRESS: of this host, where the others reach it.
set -eu
: "${HOSTS:?the names of the hosts, with spaces between}" "${SSH:=ssh -o BatchMode=yes}" "${ADDRESS:=$(hostname -I | cut -d ' ' -f 1)}"
dask=$(command -v dask)
worker="worker --nthreads 1 --nworkers \$(nproc)"
[[ " $* " =~ \ --device[\ =]gpu\  ]] && worker="cuda worker --nthreads 1"

# Whoever has the key may run code as this user: it is in a folder of this user's alone, and goes with the command.
own=$(mktemp -d "$PWD/.tidalign-ssh-XXXXXX")
jobs=()
finish() {
    [ ${#jobs[@]} = 0 ] || kill "${jobs[@]}" 2>/dev/null || true
    wait
    rm -rf "$own"
}
trap finish EXIT

# A worker ends with its scheduler; one whose scheduler says nothing for a minute, too. What ends before says why.
work_on() {
    $SSH "$1" "DASK_CONFIG=$own $dask $worker --scheduler-file $own/scheduler.json --no-dashboard --death-timeout 60" >/dev/null 2>"$own/$1.log" </dev/null &
    trap "kill $! 2>/dev/null; exit" TERM
    status=0
    wait $! || status=$?
    echo "ssh.sh: $1: workers ended with status $status: $(grep -v '^$' "$own/$1.log" | tail -n 3)" >&2
}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=tidalign -keyout "$own/key.pem" -out "$own/certificate.pem" 2>/dev/null
sed "s|FOLDER|$own|g" "$(dirname "$0")/dask.yaml" >"$own/dask.yaml"
export DASK_CONFIG=$own

"$dask" scheduler --protocol tls --host "$ADDRESS" --port 0 --no-dashboard --dashboard-address 127.0.0.1:0 --scheduler-file "$own/scheduler.json" 2>"$own/log" &
jobs+=($!)
until [ -s "$own/scheduler.json" ]; do
    kill -0 "${jobs[0]}" || { cat "$own/log" >&2; exit 69; }
    sleep 0.1
done
for host in $HOSTS; do
    work_on "$host" &
    jobs+=($!)
done
tidalign "$@" --scheduler "$own/scheduler.json" &
command=$!
trap 'kill -TERM $command' TERM USR1
trap 'kill -INT $command' INT
status=0
while kill -0 $command 2>/dev/null; do
    wait $command && status=0 || status=$?
done
# No workers, or none any more, or no scheduler: what it said may tell why.
[ $status != 69 ] && [ $status != 75 ] || tail -n 5 "$own/log" | sed 's/^/ssh.sh: scheduler: /' >&2
exit $status
