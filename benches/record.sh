#!/usr/bin/env bash
# Makes the record of a machine with NVIDIA GPUs: verifies every kernel and rung, times them beside the machine's limit and the CUDA
# C++ peers, counts what the hardware did, and looks for bad memory accesses and races.
#
#     benches/record.sh BIN OUT COMMIT [STAGE...]
#
# BIN is a folder with halotile and gpu-test (cargo build --release --workspace), OUT one for what comes out, COMMIT what the
# record names. The stages; those up to `sanitizer` when none is named:
#
#     cases      the table of cases on the GPU, the occupancy calculator beside the driver
#     ladders    both ladders, ours and the production kernels, at the sizes that the sources used
#     patterns   the production kernels on clustered and constant grids
#     peers      CUDA C++ twins, compiled here (needs nvcc)
#     counters   what Nsight Compute counts for each kernel (needs ncu)
#     sanitizer  the table of cases under memcheck and racecheck (needs compute-sanitizer)
#     several    the plans over all GPUs of the machine, and over one
#     streams    from memory to memory on 1, 2, ... GPUs, beside what copying the results back alone takes (not among the default stages)
#     windows    windows of 5 to 255 cells, 16 and 256 levels, kernels alone (likewise)
#     paths      shortest paths: the ladder, the kernels for use in every type, graphs of up to 28,911 vertices (likewise)
#     paths-many the same on 1, 2, ... GPUs, and in blocks as where memory is short (likewise)
#     paths-file a complete graph of 17,000 vertices from file to file, beside what dd takes for the same bytes (likewise; 6 GB in TMPDIR)
#     paths-check memcheck and racecheck over the kernels for shortest paths (likewise; needs compute-sanitizer)
#     raster     a GeoTIFF of 3.6 Gcell from file to file within 1 GiB, on the CPU and on a GPU (likewise; 5 GB in TMPDIR)
#     primer     every topic of the primer, between two runs of its peers: device copies, CUB, cuBLAS (likewise; needs nvcc)
#     primer-counters what Nsight Compute counts of the primer's accesses to shared and global memory (likewise; needs ncu)
#     profile    what --profile says, beside the clock of the shell and Nsight Compute (likewise; needs ncu, and 5 GB in TMPDIR)
set -euo pipefail
bin=$(realpath "$1") out=$(realpath "$2") commit=$3
shift 3
stages=${*:-cases ladders patterns peers counters sanitizer}
peers=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/peers
halotile=$bin/halotile
bench() { # NAME OPTIONS...
    local name=$1
    shift
    "$halotile" bench entropy --commit "$commit" --overwrite --export-json "$out/$name.json" "$@" | tee "$out/$name.txt"
}
paths() { # NAME OPTIONS...
    local name=$1
    shift
    "$halotile" bench apsp --commit "$commit" --overwrite --export-json "$out/$name.json" "$@" | tee "$out/$name.txt"
}
# A line for 1, 2, ... GPUs of this machine: how many, and what --device calls them.
each_number_of_gpus() {
    local count
    for count in $(seq 1 "$(nvidia-smi -L | wc -l)"); do
        echo "$count cuda:$(seq -s, 0 $((count - 1)))"
    done
}
# The tables of ncu in these files as one. A kernel is launched several times, first on little data; the last one of each name is kept.
last_of_each() {
    awk -F'","' 'FNR == 1 { lines = 0 }
        /^"/ && ++lines <= 2 { if (NR == FNR) print; next }
        /^"/ { if (!($5 in last)) names[++n] = $5; last[$5] = $0 }
        END { for (i = 1; i <= n; i++) print last[names[i]] }' "$@"
}
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem --format=csv | tee "$out/gpu.csv"
for stage in $stages; do
    start=$SECONDS
    case $stage in
    cases) "$bin/gpu-test" 2>&1 | tee "$out/cases.txt" ;;
    ladders)
        bench ladders --device cuda --kernels all --sizes 400,2560,10240 --export-html "$out/ladders.html"
        bench ladder-b --device cuda --sizes 1024,4096,512x8192 \
            --kernels b0..b9,b10,b9-8x8,b9-16x16,b9-32x32,b9-64x16,b9-128x8,b9-512x2,tensor
        ;;
    patterns)
        for pattern in clustered constant; do
            bench "$pattern" --device cuda --kernels v7,sliding,tensor --sizes 10240 --pattern "$pattern" --runs 30
        done
        ;;
    peers)
        nvcc -O3 -arch=sm_90 -o "$out/entropy_peers" "$peers/entropy_peers.cu"
        # Once before and once after the same kernels of ours: one run, one state of the machine.
        "$out/entropy_peers" --json "$out/peers.json" | tee "$out/peers.txt"
        bench beside-peers --device cuda --kernels v7,sliding,tensor --sizes 400,2560,10240 --runs 30
        rm "$out/entropy_peers"
        ;;
    counters)
        metrics=sm__cycles_elapsed.max,smsp__inst_executed.sum,launch__registers_per_thread
        metrics+=,sm__warps_active.avg.pct_of_peak_sustained_active,smsp__issue_active.avg.pct_of_peak_sustained_active
        metrics+=,lts__throughput.avg.pct_of_peak_sustained_elapsed,l1tex__throughput.avg.pct_of_peak_sustained_active
        metrics+=,sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active,sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active
        metrics+=,l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed
        metrics+=,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
        metrics+=,smsp__sass_inst_executed_op_local.sum,dram__bytes.sum,lts__t_bytes.sum
        metrics+=,idc__request_hit_rate.pct,smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio
        metrics+=,smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio
        metrics+=,smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio
        metrics+=,smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio
        metrics+=,smsp__average_warps_issue_stalled_imc_miss_per_issue_active.ratio
        metrics+=,smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio
        metrics+=,smsp__average_warps_issue_stalled_tex_throttle_per_issue_active.ratio
        ncu --clock-control none --csv --page raw --metrics "$metrics" -k regex:'ladder_|entropy_' \
            "$halotile" bench entropy --device cuda --sizes 2560 --runs 1 --warmup 0 -q \
            --kernels v0..v9,b0..b9,s1..s4,naive,tiled,columns,histogram,sliding,tensor >"$out/ncu-all.csv" 2>"$out/ncu.log" || tail -5 "$out/ncu.log"
        last_of_each "$out/ncu-all.csv" >"$out/counters.csv"
        rm -f "$out/ncu-all.csv"
        wc -l "$out/counters.csv"
        ;;
    sanitizer)
        for tool in memcheck racecheck; do
            compute-sanitizer --tool "$tool" "$bin/gpu-test" >"$out/$tool.txt" 2>&1 || true
            grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$out/$tool.txt"
        done
        ;;
    several)
        count=$(nvidia-smi -L | wc -l)
        all=cuda:$(seq -s, 0 $((count - 1)))
        "$bin/gpu-test" | grep -E 'several|failed,' | tail -5 | tee "$out/cases-$count.txt"
        for devices in cuda:0 "$all"; do
            bench "v14-${devices//[:,]/-}" --device "$devices" --kernels v7,v12,v14,v14-parallel,v14-share,sliding,tensor \
                --sizes 400,2560,10240,10x10000000 --runs 15
        done
        ;;
    streams)
        each_number_of_gpus | while read -r count devices; do
            bench "stream-$count" --device "$devices" --kernels auto,pinned --sizes 40960,10240,10x1000000,1000000x10 --runs 10
        done
        ;;
    windows)
        for levels in 16 256; do
            for size in 5 21 101 255; do
                case $size-$levels in
                5-16) kernels=tensor ;;
                *-16) kernels=columns,histogram,histogram-wide ;;
                *) kernels=histogram,histogram-wide ;;
                esac
                bench "window-$size-$levels" --device cuda --kernels "$kernels" --sizes 10240 --size "$size" --levels "$levels" --runs 10
            done
        done
        ;;
    paths)
        paths paths-ladder --device cuda --kernels naive,blocked32,blocked64,tiled --vertices 1000,4096,8192,16384 --min-time 1
        for weight in i32 i16 f32; do
            paths "paths-$weight" --device cuda --kernels tiled --vertices 300,1000,2048,4096,8192,16384,24000,28911 --weight "$weight" --min-time 1
        done
        ;;
    paths-many)
        each_number_of_gpus | while read -r count devices; do
            for weight in i32 i16; do
                paths "paths-$count-$weight" --device "$devices" --kernels tiled --vertices 4096,16384,32768 --weight "$weight" --runs 5
            done
            paths "paths-$count-blocks" --device "$devices" --kernels tiled,blocks-8192,blocks-16384 --vertices 32768 --runs 2
        done
        ;;
    paths-file)
        # From inside, so that records name no folder of a machine.
        folder=$(mktemp -d)
        pushd "$folder" >/dev/null
        "$halotile" generate graph --vertices 17000 --shape complete in.bin -q
        ls -l | tee "$out/paths-file.txt"
        for run in 1 2 3; do
            rm -f copy out.bin
            {
                dd if=in.bin of=/dev/null bs=16M
                dd if=/dev/zero of=copy bs=16M count=1156000000 iflag=count_bytes
            } 2>&1 | grep copied
            "$halotile" apsp in.bin out.bin --device cuda --json -q
        done | tee -a "$out/paths-file.txt"
        "$halotile" apsp in.bin paths.bin --paths before.bin --device cuda --json -q | tee -a "$out/paths-file.txt"
        cmp out.bin paths.bin
        popd >/dev/null
        rm -r "$folder"
        ;;
    paths-check)
        for tool in memcheck racecheck; do
            for weight in i32 i16 f32; do
                compute-sanitizer --tool "$tool" "$halotile" bench apsp --device cuda --vertices 1,300,520 --weight "$weight" --runs 1 --warmup 0 -q \
                    >"$out/$tool-paths-$weight.txt" 2>&1 || true
                grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$out/$tool-paths-$weight.txt"
            done
        done
        ;;
    raster)
        # From inside, so that records name no folder of a machine.
        folder=$(mktemp -d)
        pushd "$folder" >/dev/null
        "$halotile" generate grid --rows 60000 --cols 60000 --pattern clustered --levels 16 --seed 1 in.tif -q
        ls -l | tee "$out/raster.txt"
        for device in cpu cuda; do
            for options in '' '--co PREDICTOR=3' '--co COMPRESS=NONE'; do
                # shellcheck disable=SC2086
                /usr/bin/env time -v "$halotile" entropy in.tif out.tif --overwrite -q --json --levels 16 \
                    --memory 1GiB --device "$device" $options 2>time.txt >>"$out/raster.jsonl"
                printf '%s %s\n' "$device" "$options"
                grep -E 'Maximum resident|Elapsed|User time' time.txt
                stat -c '%s bytes' out.tif
            done
        done | tee -a "$out/raster.txt"
        popd >/dev/null
        rm -r "$folder"
        ;;
    primer)
        nvcc -O3 -arch=sm_90 -o "$out/primer_peers" "$peers/primer_peers.cu" -lcublas
        # Before ours and after: what the two differ by is the state of the machine.
        "$out/primer_peers" --json "$out/primer-peers-before.json" | tee "$out/primer-peers-before.txt"
        "$halotile" bench primer --device cuda --commit "$commit" --overwrite --export-json "$out/primer.json" \
            --export-html "$out/primer.html" --export-csv "$out/primer.csv" | tee "$out/primer.txt"
        "$out/primer_peers" --json "$out/primer-peers-after.json" | tee "$out/primer-peers-after.txt"
        rm "$out/primer_peers"
        ;;
    primer-counters)
        metrics=gpu__time_duration.sum
        for way in ld st; do
            metrics+=,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_$way.sum
            metrics+=,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_$way.sum,smsp__inst_executed_op_shared_$way.sum
            metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_$way.sum,l1tex__t_requests_pipe_lsu_mem_global_op_$way.sum
        done
        tables=()
        for topic in 'reduce --sizes 256' 'transpose --sizes 1024x1024' 'banks --sizes 64'; do
            table=$out/ncu-${topic%% *}
            # shellcheck disable=SC2086
            ncu --clock-control none --csv --page raw --metrics "$metrics" -k regex:primer_ \
                "$halotile" bench $topic --device cuda --runs 1 --warmup 0 -q >"$table.csv" 2>"$table.log" || tail -5 "$table".{csv,log}
            tables+=("$table.csv")
        done
        last_of_each "${tables[@]}" >"$out/primer-counters.csv"
        # A stride is an argument of the probe of banks, not part of a name: all of its launches too, in order.
        grep '^"' "$out/ncu-banks.csv" >"$out/primer-banks.csv" || true
        rm -f "${tables[@]}"
        wc -l "$out/primer-counters.csv" "$out/primer-banks.csv"
        ;;
    profile)
        # What --profile says beside the clock of the shell, without it and with it; and its kernels beside Nsight Compute's.
        folder=$(mktemp -d)
        pushd "$folder" >/dev/null
        gpus=$(seq -s, 0 $(($(nvidia-smi -L | wc -l) - 1)))
        "$halotile" generate grid --rows 30000 --cols 30000 --pattern random --levels 16 --seed 1 in.npy -q
        TIMEFORMAT='%R s by the shell'
        for run in 1 2 3; do
            for profile in '' '--profile entropy.json' '--profile entropy.html'; do
                echo "entropy $profile, run $run"
                # shellcheck disable=SC2086
                time "$halotile" entropy in.npy out.npy --levels 16 --device "cuda:$gpus" --overwrite $profile
            done
        done 2>&1 | tee "$out/profile-entropy.txt"
        "$halotile" generate graph --vertices 17000 --shape complete graph.bin -q
        for profile in '' '--profile apsp.json' '--profile apsp.html'; do
            echo "apsp $profile"
            # shellcheck disable=SC2086
            time "$halotile" apsp graph.bin out.bin --device "cuda:$gpus" --overwrite $profile
        done 2>&1 | tee "$out/profile-apsp.txt"
        kernels=(bench entropy --device cuda --kernels v7,sliding,tensor --sizes 10240 --warmup 3 --runs 10 --overwrite)
        "$halotile" "${kernels[@]}" --profile kernels.json >"$out/profile-kernels.txt" 2>&1
        "$halotile" "${kernels[@]}" >"$out/profile-kernels-without.txt" 2>&1
        ncu --clock-control none --cache-control none --csv --page raw --metrics gpu__time_duration.sum -k 'regex:v7|sliding|tensor' \
            "$halotile" "${kernels[@]}" -q >"$out/profile-ncu.csv" 2>&1 || tail -5 "$out/profile-ncu.csv"
        cp entropy.json entropy.html apsp.html kernels.json "$out/"
        gzip -f "$out/entropy.json" "$out/kernels.json"
        popd >/dev/null
        rm -r "$folder"
        ;;
    *)
        printf 'no stage %s\n' "$stage" >&2
        exit 2
        ;;
    esac
    printf '== %s: %d s\n' "$stage" $((SECONDS - start))
done
