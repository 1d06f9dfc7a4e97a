#!/usr/bin/env bash
# Captures each of these scripts by nsys and by torch.profiler: bash try.sh OUT [JOBS] [NAMES]
# NAMES is a pattern of those to try, such as 'compile|graphs'; graphs is also tried by node.
# Needs torch, transformers, pytorch-lightning and accelerate; nothing is downloaded. OUT gets a
# folder of each run with its capture and its log. Each may take LIMIT seconds (60). With 2 GPUs,
# or none, those of two processes are tried, too.
set -u
mkdir -p "$1"
export OUT=$(realpath "$1") HERE=$(dirname "$(realpath "$0")") PYTHON=${PYTHON:-python3}
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo NCCL_SOCKET_IFNAME=lo HF_HUB_OFFLINE=1
GPUS=$("$PYTHON" -c "import torch; print(torch.cuda.device_count())")

try() { # NUMBER PROFILER NAME PROCESSES SCRIPT [ARGUMENT...]
  local number=$1 profiler=$2 run=$OUT/$3.$2 processes=$4
  shift 4
  local launch=("$PYTHON" "$HERE/$1" "${@:2}")
  if [ "$processes" = 2 ]; then
    launch=("$PYTHON" -m torch.distributed.run --nnodes 1 --nproc-per-node 2
      --master-addr 127.0.0.1 --master-port $((29700 + number)) "${launch[@]:1}")
  else
    export CUDA_VISIBLE_DEVICES=0
  fi
  mkdir -p "$run" && cd "$run" || return
  local flags=()
  [ "$profiler" = nodes ] && flags=(--cuda-graph-trace=node)
  if [ "$profiler" = torch ]; then
    export CAPTURE=$run
  else
    launch=(nsys profile -t cuda,nvtx -s none --cpuctxsw=none -c cudaProfilerApi
      --capture-range-end=stop "${flags[@]}" --force-overwrite=true -o "$run/capture"
      "${launch[@]}")
  fi
  timeout -s INT -k 10 "${LIMIT:-60}" "${launch[@]}" >"$run/log" 2>&1 &&
    { [ "$profiler" = torch ] || nsys export --type sqlite --force-overwrite=true \
      -o "$run/capture.sqlite" "$run/capture.nsys-rep" >>"$run/log" 2>&1; }
  local status=$?
  echo "$(basename "$run"): status $status: $(ls)"
}
export -f try

number=0
while read -r runs; do
  [[ $runs =~ ^(${3:-.*})\  ]] || continue
  for profiler in nsys nodes torch; do
    [ "$GPUS" = 0 ] && [ "$profiler" != torch ] && continue
    [ "$profiler" = nodes ] && [[ $runs != graphs* ]] && continue
    [ "$GPUS" = 1 ] && [[ $runs == *" 2 "* ]] && continue
    echo "$((number += 1)) $profiler $runs"
  done
done <<'RUNS' | xargs -P "${2:-5}" -I{} bash -c 'try {}'
own_loop 1 own_loop.py
checkpoint 1 own_loop.py --how checkpoint
compile 1 own_loop.py --how compile
graphs 1 own_loop.py --how graphs
ddp 2 own_loop.py --how ddp
fsdp 2 own_loop.py --how fsdp
trainer 1 hf_trainer.py
lightning 1 lightning_trainer.py
accelerate 1 accelerated.py
accelerate_ddp 2 accelerated.py
RUNS
