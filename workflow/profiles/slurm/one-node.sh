#!/bin/bash
# The whole paper in one allocation, without further SLURM jobs. From the folder of the project:
#
#   sbatch workflow/profiles/slurm/one-node.sh
#   sbatch --partition=gpu --gpus=4 --cpus-per-task=8 --mem=20G workflow/profiles/slurm/one-node.sh
#   sbatch workflow/profiles/slurm/one-node.sh --configfile workflow/presets/quick.yaml
#
# Options of sbatch on the command line override the lines below. Arguments after the script go to
# Snakemake, and override those that the script gives it. Shortly before the time limit the run stops, keeps what is trained, and is requeued: it
# goes on where it was, on this node or on another. With GPUs, each training job takes a free one.
# If none can be used, the run fails; `UNUSABLE_GPU=cpu sbatch …` trains on the CPU instead.

#SBATCH --job-name=snap
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=16
#SBATCH --mem-per-cpu=600
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=one-node-%j.log

set -u
cd "$SLURM_SUBMIT_DIR" || exit 1
if [ ! -e .venv/bin/snap ] && [ -z "${SNAP_PYTHON:-}" ]; then
    echo "one-node.sh: run make .venv/installed first, and sbatch in the folder of the project" >&2
    exit 1
fi
# cpus-per-task is unset if the allocation was made by --exclusive or by whole nodes.
options=(--cores "${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-1}}")
if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
    IFS=, read -ra devices <<< "$CUDA_VISIBLE_DEVICES"
    options+=(--resources "gpu=${#devices[@]}" --config lambdas_by_default=5 --set-resources)
    for rule in search iid sequential ladder portrait control; do
        options+=("$rule:gpu=1" "$rule:unusable_gpu='${UNUSABLE_GPU:-fail}'")
    done
fi

target=()
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then # the first argument names what to make
    target=("$1")
    shift
fi
export PYTHONUTF8=1 # whatever the locale
"${SNAP_PYTHON:-.venv/bin/python}" workflow/run.py "${target[@]}" "${options[@]}" "$@" &
run=$!
warned=
trap 'warned=yes; kill -TERM "$run"' TERM
wait "$run"
code=$?
while kill -0 "$run" 2> /dev/null; do # a signal ended the waiting, not the run
    wait "$run"
    code=$?
done
# A job that SLURM has warned of its time limit is still RUNNING; after scancel it is not.
if [ -n "$warned" ] && [ "$code" -ne 0 ]; then
    until state=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%T); do
        sleep 5 # SLURM does not answer
    done
    if [ "$state" = RUNNING ]; then
        echo "one-node.sh: requeued; what is trained is kept" >&2
        scontrol requeue "$SLURM_JOB_ID"
    fi
fi
exit "$code"
