#!/usr/bin/env bash
# A cluster on one machine: three servers of PostgreSQL with Patroni, three of etcd, HAProxy, and three gateways, of which
# the third follows a feed.
#   cluster.sh up FOLDER [FEED]     brings it up in a new folder, and prints its addresses; FOLDER/cluster.env has them
#   cluster.sh leader FOLDER        prints the name of the server that leads: a, b or c; exit status 1 where none does
#   cluster.sh kill FOLDER NAME     kills a server and its Patroni with SIGKILL, as the loss of its machine does
#   cluster.sh start FOLDER NAME    starts them again
#   cluster.sh freeze FOLDER NAME   stops them with SIGSTOP, as a machine that hangs; its connections stay open
#   cluster.sh thaw FOLDER NAME     lets them go on
#   cluster.sh crash FOLDER NAME    kills a server alone; its Patroni starts it again, or another server leads
#   cluster.sh switchover FOLDER NAME  hands the lead over from a server that leads
#   cluster.sh list FOLDER          prints Patroni's list of the servers
#   cluster.sh down FOLDER          stops all, and removes the folder
# FIRST_PORT (20000) is where the search for free ports begins, TTL (20) is Patroni's lease in seconds, ATTEMPTS (240) how
# many quarters of a second each part may take to come up. GATEWAY_ENV may have more variables for the gateways, as NAME=value with spaces between.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(cd "$here/../.." && pwd)
members=(a b c)
ttl=${TTL:-20}
attempts=${ATTEMPTS:-240}

fail() {
  echo "cluster.sh: $*" >&2
  exit 1
}

usage() {
  sed -n '2,/^set/{/^# /s/^# //p}' "${BASH_SOURCE[0]}" >&2
  exit 2
}

[ $# -ge 2 ] || usage
command=$1
folder=$(realpath -m "$2")
shift 2

# PostgreSQL refuses to run as root. setpriv becomes the program, so that its process id is the program's.
as_server() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid=postgres --regid=postgres --init-groups env HOME="$folder" "$@"
  else
    "$@"
  fi
}

bin() { find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1; }

check_programs() {
  local missing=()
  [ -n "$(bin)" ] || missing+=(postgresql)
  command -v patroni >/dev/null || missing+=(patroni)
  command -v etcd >/dev/null || missing+=(etcd-server)
  command -v etcdctl >/dev/null || missing+=(etcd-client)
  [ -x /usr/sbin/haproxy ] || missing+=(haproxy)
  [ ${#missing[@]} = 0 ] || fail "install as root first: apt-get install --no-install-recommends ${missing[*]}"
}

# So many free ports, below those that the system gives to connections.
free_ports() {
  node -e '
    const { createServer } = require("node:net")
    const [first, count] = process.argv.slice(1).map(Number)
    const isFree = (port) => new Promise((resolve) => {
      const server = createServer().once("error", () => resolve(false))
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
    })
    const find = async () => {
      const found = []
      for (let port = first; found.length < count && port < 32_768; port++) if (await isFree(port)) found.push(port)
      console.log(found.join(" "))
    }
    find()' "${FIRST_PORT:-20000}" "$1"
}

# Starts a program in the background, with a log and a file of its process id.
run() {
  local name=$1
  shift
  (cd / && exec setsid "$@" </dev/null >>"$folder/log/$name.log" 2>&1) &
  echo $! >"$folder/pids/$name"
}

run_server() {
  if [ "$(id -u)" = 0 ]; then
    run "$1" setpriv --reuid=postgres --regid=postgres --init-groups env HOME="$folder" "${@:2}"
  else
    run "$@"
  fi
}

is_running() { [ -f "$folder/pids/$1" ] && kill -0 "$(cat "$folder/pids/$1")" 2>/dev/null; }

# Waits until a command succeeds, while a program runs.
await() {
  local name=$1 attempt
  shift
  for ((attempt = 0; attempt < attempts; attempt++)); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    is_running "$name" || break
    sleep 0.25
  done
  tail -n 20 "$folder/log/$name.log" >&2
  fail "$name did not come up; its log is $folder/log/$name.log"
}

# Whether an address answers 200 over HTTP.
is_ok() { node -e 'fetch(process.argv[1]).then(({ status }) => process.exit(status === 200 ? 0 : 1), () => process.exit(1))' "$1"; }

# A configuration with the values of this cluster in place of the names in braces.
fill() {
  local text
  text=$(<"$here/$1")
  shift
  local pair
  for pair in "$@"; do text=${text//\$\{${pair%%=*}\}/${pair#*=}}; done
  printf '%s\n' "$text"
}

read_addresses() {
  [ -f "$folder/cluster.env" ] || fail "there is no cluster in $folder"
  # shellcheck disable=SC1091
  . "$folder/cluster.env"
}

of() {
  local name=$1
  printf '%s' "${!name}"
}

start_patroni() { run_server "patroni-$1" patroni "$folder/$1/patroni.yml"; }

leader() {
  node -e '
    const ask = (port) => fetch(`http://127.0.0.1:${port}/primary`).then(({ status }) => status === 200, () => false)
    const found = async () => {
      for (const pair of process.argv.slice(1)) {
        const [name, port] = pair.split("=")
        if (await ask(port)) return name
      }
    }
    found().then((name) => (name === undefined ? (process.exitCode = 1) : console.log(name)))
  ' "a=$API_PORT_a" "b=$API_PORT_b" "c=$API_PORT_c"
}

# Whether one server leads, and the two others follow, one of them synchronously.
is_whole() {
  node -e '
    fetch(`http://127.0.0.1:${process.argv[1]}/cluster`).then(async (response) => {
      const { members } = await response.json()
      const roles = members.filter(({ state }) => /running|streaming/.test(state)).map(({ role }) => role).sort()
      process.exit(roles.join() === "leader,replica,sync_standby" ? 0 : 1)
    }).catch(() => process.exit(1))' "$API_PORT_a"
}

psql_as() { PGPASSWORD=$PASSWORD "$(bin)/psql" -qAtX -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$PRIMARY_PORT" -U "$1" "${@:2}"; }

# The owner changes tables, the gateway reads and writes rows, the reader reads them.
make_database() {
  psql_as postgres -d postgres -c "create role owner login password '$PASSWORD'" -c "create role gateway login password '$PASSWORD'" \
    -c "create role reader login password '$PASSWORD'" -c 'create database vaults owner owner'
  psql_as owner -d vaults \
    -c 'alter default privileges grant select on tables to reader' \
    -c 'alter default privileges grant select, insert, update, delete on tables to gateway' \
    -c 'alter default privileges grant usage on sequences to gateway'
}

start_gateway() {
  local number=$1 feed=()
  [ "$number" != 3 ] || feed=(--feed "$FEED")
  # shellcheck disable=SC2086
  run "gateway-$number" env ${GATEWAY_ENV:-} DEMO=0 HOST=127.0.0.1 PORT="$(of "GATEWAY_PORT_$number")" TRUSTED_PROXIES=1 \
    DATABASE_URL="$DATABASE_URL" READ_URLS="$READ_URLS" node "$project/src/start.mjs" serve "${feed[@]}"
}

up() {
  [ ! -e "$folder" ] || fail "$folder is there already"
  check_programs
  mkdir -p "$folder"/{log,pids}
  chmod 711 "$folder"
  trap 'status=$?; trap - EXIT; [ $status = 0 ] || down >/dev/null; exit $status' EXIT
  as_server test -x "$folder" || fail "the user postgres can't enter $folder, or a folder above it"
  local ports member hosts=() initial=() feed=${1:-$folder/feed.ndjson}
  read -ra ports <<<"$(free_ports 18)"
  [ ${#ports[@]} = 18 ] || fail 'there are not enough free ports'
  touch "$folder"/{cluster.env,pids/segments,pids/shared-memory}
  chmod 600 "$folder/cluster.env"
  {
    for member in a b c; do
      echo "PORT_$member=${ports[0]} API_PORT_$member=${ports[1]} ETCD_PORT_$member=${ports[2]} PEER_PORT_$member=${ports[3]}"
      ports=("${ports[@]:4}")
    done
    echo "PRIMARY_PORT=${ports[0]} FRONT_PORT=${ports[1]} HAPROXY_METRICS_PORT=${ports[2]}"
    echo "GATEWAY_PORT_1=${ports[3]} GATEWAY_PORT_2=${ports[4]} GATEWAY_PORT_3=${ports[5]}"
    echo "PASSWORD=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
    printf 'FEED=%q\n' "$(realpath -m "$feed")"
  } >"$folder/cluster.env"
  read_addresses
  [ -e "$FEED" ] || touch "$FEED"
  cat >>"$folder/cluster.env" <<END
DATABASE_URL=postgres://gateway:$PASSWORD@127.0.0.1:$PRIMARY_PORT/vaults
READ_URLS=postgres://reader:$PASSWORD@127.0.0.1:$PORT_a/vaults,postgres://reader:$PASSWORD@127.0.0.1:$PORT_b/vaults,postgres://reader:$PASSWORD@127.0.0.1:$PORT_c/vaults
END
  read_addresses
  for member in "${members[@]}"; do
    hosts+=("127.0.0.1:$(of "ETCD_PORT_$member")")
    initial+=("$member=http://127.0.0.1:$(of "PEER_PORT_$member")")
    install -d -m 700 "$folder/$member" "$folder/etcd-$member"
    [ "$(id -u)" != 0 ] || chown postgres: "$folder/$member" "$folder/etcd-$member"
  done
  for member in "${members[@]}"; do
    run_server "etcd-$member" etcd --name "$member" --data-dir "$folder/etcd-$member" --logger zap --log-level warn \
      --heartbeat-interval 200 --election-timeout 2000 \
      --listen-client-urls "http://127.0.0.1:$(of "ETCD_PORT_$member")" \
      --advertise-client-urls "http://127.0.0.1:$(of "ETCD_PORT_$member")" \
      --listen-peer-urls "http://127.0.0.1:$(of "PEER_PORT_$member")" \
      --initial-advertise-peer-urls "http://127.0.0.1:$(of "PEER_PORT_$member")" \
      --initial-cluster "$(IFS=,; echo "${initial[*]}")" --initial-cluster-token "$(basename "$folder")"
  done
  await etcd-a env ETCDCTL_API=3 etcdctl --endpoints "$(IFS=,; echo "${hosts[*]}")" endpoint health
  for member in "${members[@]}"; do
    fill patroni.yml NAME="$member" FOLDER="$folder" BIN="$(bin)" PASSWORD="$PASSWORD" \
      ETCD_HOSTS="$(IFS=,; echo "${hosts[*]}")" PORT="$(of "PORT_$member")" API_PORT="$(of "API_PORT_$member")" \
      TTL="$ttl" LOOP_WAIT=$((ttl / 4)) RETRY_TIMEOUT=$(((ttl - ttl / 4) / 2)) >"$folder/$member/patroni.yml"
    chmod 600 "$folder/$member/patroni.yml"
    [ "$(id -u)" != 0 ] || chown postgres: "$folder/$member/patroni.yml"
    start_patroni "$member"
  done
  # A configuration has 18 names, which the file of addresses has too.
  local pairs
  mapfile -t pairs < <(tr ' ' '\n' <"$folder/cluster.env" | grep -E '^[A-Za-z_0-9]*PORT')
  fill haproxy.cfg "${pairs[@]}" >"$folder/haproxy.cfg"
  run_server haproxy /usr/sbin/haproxy -f "$folder/haproxy.cfg"
  await patroni-a is_whole
  await haproxy psql_as postgres -d postgres -c 'select 1'
  make_database
  (cd "$project" && DATABASE_URL=${DATABASE_URL/gateway:/owner:} node src/start.mjs migrate)
  local number
  for number in 1 2 3; do start_gateway "$number"; done
  for number in 1 2 3; do await "gateway-$number" is_ok "http://127.0.0.1:$(of "GATEWAY_PORT_$number")/ready"; done
  await haproxy is_ok "http://127.0.0.1:$FRONT_PORT/ready"
  echo "gateways    http://127.0.0.1:$FRONT_PORT over $GATEWAY_PORT_1, $GATEWAY_PORT_2 and $GATEWAY_PORT_3; the last follows $FEED"
  echo "PostgreSQL  primary on $PRIMARY_PORT; a on $PORT_a, b on $PORT_b, c on $PORT_c; a password is in $folder/cluster.env"
  echo "metrics     HAProxy's on $HAPROXY_METRICS_PORT, Patroni's on $API_PORT_a, $API_PORT_b and $API_PORT_c, with the gateways' own paths /metrics"
}

# The process id of a server of PostgreSQL; nothing where it doesn't run.
postmaster() {
  local file=$folder/$1/data/postmaster.pid pid
  [ -f "$file" ] || return 0
  pid=$(head -n 1 "$file")
  if kill -0 "$pid" 2>/dev/null; then echo "$pid"; fi
}

kill_member() {
  local pid patroni
  pid=$(postmaster "$1")
  patroni=$(cat "$folder/pids/patroni-$1" 2>/dev/null) || true
  # A killed server leaves shared memory, which it removes when it starts again, or this script when all ends.
  if [ -n "$pid" ]; then
    grep -oh '/dev/shm/PostgreSQL[^ ]*' /proc/"$pid"/maps | sort -u >>"$folder/pids/shared-memory" || true
    awk 'NR == 7 { print $2 }' "$folder/$1/data/postmaster.pid" >>"$folder/pids/segments"
  fi
  # Patroni first: it would start the server again. The children end with the server, but for those that work.
  local children=()
  [ -z "$pid" ] || mapfile -t children < <(ps -o pid= --ppid "$pid")
  # shellcheck disable=SC2086
  kill -9 $patroni $pid ${children[*]} 2>/dev/null || true
  # shellcheck disable=SC2086
  await_end $patroni $pid ${children[*]}
}

# Sends a signal to a server, its children and its Patroni.
signal_member() {
  local pid
  pid=$(postmaster "$2")
  # shellcheck disable=SC2046,SC2086
  kill "-$1" "$(cat "$folder/pids/patroni-$2")" $pid ${pid:+$(ps -o pid= --ppid "$pid")} 2>/dev/null || true
}

# Stops programs by their names, and waits until they have ended: after half a minute with SIGKILL.
stop() {
  local name
  for name in "$@"; do
    if is_running "$name"; then kill "$(cat "$folder/pids/$name")" 2>/dev/null || true; fi
  done
  for name in "$@"; do await_end "$(cat "$folder/pids/$name" 2>/dev/null)"; done
}

await_end() {
  local pid attempt
  for pid in "$@"; do
    for ((attempt = 0; attempt < 300; attempt++)); do
      kill -0 "$pid" 2>/dev/null || continue 2
      sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null || true
  done
}

# The data goes with the folder: the servers are killed, which takes less time than writing it.
down() {
  [ -d "$folder/pids" ] || fail "there is no cluster in $folder"
  local member line etcd
  stop gateway-1 gateway-2 gateway-3 haproxy
  mapfile -t etcd < <(cat "$folder"/pids/etcd-* 2>/dev/null)
  kill -9 ${etcd[@]+"${etcd[@]}"} 2>/dev/null || true
  for member in "${members[@]}"; do kill_member "$member"; done
  await_end ${etcd[@]+"${etcd[@]}"}
  # shellcheck disable=SC2046
  ipcrm $(sed 's/^/-m /' "$folder/pids/segments") 2>/dev/null || true
  while read -r line; do rm -f "$line"; done <"$folder/pids/shared-memory"
  rm -rf "$folder"
}

case $command in
  up) up "$@" ;;
  down) down ;;
  leader)
    read_addresses
    leader
    ;;
  list)
    as_server patronictl -c "$folder/a/patroni.yml" list
    ;;
  kill | start | freeze | thaw | crash | switchover)
    read_addresses
    member=${1:?name a, b or c}
    case $command in
      kill) kill_member "$member" ;;
      start) is_running "patroni-$member" || start_patroni "$member" ;;
      freeze) signal_member STOP "$member" ;;
      thaw) signal_member CONT "$member" ;;
      crash) kill -9 "$(postmaster "$member")" ;;
      switchover) as_server patronictl -c "$folder/$member/patroni.yml" switchover vaults --leader "$member" --scheduled now --force ;;
    esac
    ;;
  *) usage ;;
esac
