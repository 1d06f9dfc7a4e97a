#!/usr/bin/env bash
# Records every scenario of record_threads.py, by nsys and torch.profiler, on two GPUs:
#   bash benchmarks/record_threads.sh OUT [JOBS]
# OUT gets SCENARIO[.single].sqlite.gz, SCENARIO[.single][.rankN].json.gz and logs/. A scenario that
# fails doesn't stop the others. Where there is no GPU, DEVICE=cpu tries what torch.profiler records.
set -u
mkdir -p "$1/logs"
export OUT=$(realpath "$1") DEVICE=${DEVICE:-cuda} PYTHON=${PYTHON:-python3}
export PROGRAM=$(dirname "$(realpath "$0")")/record_threads.py
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo NCCL_SOCKET_IFNAME=lo

record() { # NUMBER PROFILER SCENARIO [--single]
  local name=$3${4:+.single} report=$OUT/$3${4:+.single} launch=("$PYTHON")
  case $3 in
    ddp_*|fsdp*) launch+=(-m torch.distributed.run --nnodes 1 --nproc-per-node 2
      --master-addr 127.0.0.1 --master-port $((29600 + $1))) ;;
  esac
  launch+=("$PROGRAM" "$3" --profiler "$2" --device "$DEVICE" --output "$OUT" ${4:-})
  [ "$2" = torch ] || launch=(nsys profile -t cuda,nvtx -s none --cpuctxsw=none -c cudaProfilerApi
    --capture-range-end=stop --force-overwrite=true -o "$report" "${launch[@]}")
  {
    timeout -s INT -k 10 60 "${launch[@]}" && { [ "$2" = torch ] || {
      nsys export --type sqlite --force-overwrite=true -o "$report.sqlite" "$report.nsys-rep" &&
      rm "$report.nsys-rep" && clean "$report.sqlite" && gzip -9nf "$report.sqlite"; }; }
    echo "status $?"
  } >"$OUT/logs/$name.$2.log" 2>&1
  echo "$2 $name: $(tail -n 1 "$OUT/logs/$name.$2.log")"
}

clean() { # Leave out of an export what tells the host: tables about it, its name and its paths.
  "$PYTHON" - "$1" <<'PYTHON'
import platform, sqlite3, sys
about_host = ("TARGET_INFO_SYSTEM", "TARGET_INFO_NIC", "TARGET_INFO_NETWORK", "ANALYSIS_FILE")
capture = sqlite3.connect(sys.argv[1])
for (name,) in capture.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
    if name.startswith(about_host):
        capture.execute(f"DROP TABLE {name}")
told = "DELETE FROM StringIds WHERE value LIKE '/%' OR instr(value, ?)"
capture.execute(told, [platform.node() or "/"])
capture.commit()
capture.execute("VACUUM")
PYTHON
}
export -f record clean

scenarios=$("$PYTHON" -c "import runpy, sys; print(*runpy.run_path(sys.argv[1])['SCENARIOS'])" "$PROGRAM")
number=0
for scenario in $scenarios; do
  for profiler in nsys torch; do
    [ "$profiler:$DEVICE" = nsys:cpu ] && continue
    [ "$profiler:$scenario" = torch:emit_nvtx ] && continue
    for single in "" --single; do
      echo "$((number += 1)) $profiler $scenario $single"
    done
  done
done | xargs -P "${2:-6}" -I{} bash -c 'record {}'
