// All-pairs shortest paths in C, to measure the CPU engine beside: blocked Floyd-Warshall, int32, OpenMP.
//
//     gcc -O3 -march=native -mprefer-vector-width=512 -fopenmp -o apsp_cpu apsp_cpu.c
//     ./apsp_cpu [VERTICES [RUNS]]            (2048 10; OMP_NUM_THREADS says how many threads)
//
// What a C programmer writes who knows the algorithm and leaves vectors to the compiler: tiles of 64 x 64, stored one behind the
// other; the pivot tile, then its row and column, then all others. Of the loops that were tried (k outside, a row or a block of rows
// in local arrays) these are gcc's fastest. By itself gcc takes half of an AVX-512 register, which -mprefer-vector-width=512 changes.
//
// The graph is complete, weights are random from 1 to 100. First a graph of 200 vertices is compared, cell by cell, with
// three plain loops. Then each run begins with a new copy of the weights in tiles; the time is that of the rounds, without the permutation
// from rows to tiles. Prints one JSON object with every time.

#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 64, CELLS = B * B, UNREACHABLE = (1 << 30) - 1 };

static inline int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

// Floyd's three loops within a tile.
static void close_tile(int32_t *restrict t) {
    for (int k = 0; k < B; ++k) {
        int32_t pivot[B];
        memcpy(pivot, t + k * B, sizeof pivot);
        for (int i = 0; i < B; ++i) {
            const int32_t via = t[i * B + k];
            for (int j = 0; j < B; ++j) {
                t[i * B + j] = least(t[i * B + j], via + pivot[j]);
            }
        }
    }
}

// c = min(c, a x b), eight k at a time: a row of c is loaded and stored once for them, and their minima wait for nobody.
static void product(int32_t *restrict c, const int32_t *restrict a, const int32_t *restrict b) {
    for (int i = 0; i < B; ++i) {
        for (int k = 0; k < B; k += 8) {
            const int32_t *via = a + i * B + k, *on = b + k * B;
            for (int j = 0; j < B; ++j) {
                const int32_t x = least(least(via[0] + on[j], via[1] + on[B + j]),
                                        least(via[2] + on[2 * B + j], via[3] + on[3 * B + j]));
                const int32_t y = least(least(via[4] + on[4 * B + j], via[5] + on[5 * B + j]),
                                        least(via[6] + on[6 * B + j], via[7] + on[7 * B + j]));
                c[i * B + j] = least(c[i * B + j], least(x, y));
            }
        }
    }
}

// d holds n x n tiles.
static void solve(int32_t *d, int n) {
#define TILE(i, j) (d + ((size_t)(i) * n + (j)) * CELLS)
#pragma omp parallel
    for (int k = 0; k < n; ++k) {
#pragma omp single
        close_tile(TILE(k, k));
#pragma omp for schedule(static)
        for (int x = 0; x < 2 * n; ++x) {
            int32_t old[CELLS] __attribute__((aligned(64)));
            const int at = x / 2;
            if (at == k) {
                continue;
            }
            int32_t *tile = x % 2 ? TILE(k, at) : TILE(at, k);
            memcpy(old, tile, sizeof old);
            if (x % 2) {
                product(tile, TILE(k, k), old);
            } else {
                product(tile, old, TILE(k, k));
            }
        }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < n; ++i) {
            for (int j = 0; i != k && j < n; ++j) {
                if (j != k) {
                    product(TILE(i, j), TILE(i, k), TILE(k, j));
                }
            }
        }
    }
#undef TILE
}

static int32_t weight(int i, int j) {
    uint64_t x = (uint64_t)i * 0x9e3779b97f4a7c15u ^ (uint64_t)j * 0xd1342543de82ef95u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    return i == j ? 0 : (int32_t)(x % 100) + 1;
}

// The weights in tiles; what is padding is unreachable.
static void fill(int32_t *d, int v, int n) {
#pragma omp parallel for
    for (int i = 0; i < n * B; ++i) {
        for (int j = 0; j < n * B; ++j) {
            const int32_t w = i < v && j < v ? weight(i, j) : i == j ? 0 : UNREACHABLE;
            d[((size_t)(i / B) * n + j / B) * CELLS + i % B * B + j % B] = w;
        }
    }
}

static int32_t *room(size_t cells) {
    int32_t *memory = aligned_alloc(64, cells * sizeof *memory);
    if (!memory) {
        fprintf(stderr, "apsp_cpu: there is no memory for %zu cells\n", cells);
        exit(1);
    }
    return memory;
}

static void verify(void) {
    enum { V = 200, N = (V + B - 1) / B };
    int32_t *d = room((size_t)N * N * CELLS), *plain = room(V * V);
    fill(d, V, N);
    solve(d, N);
    for (int at = 0; at < V * V; ++at) {
        plain[at] = weight(at / V, at % V);
    }
    for (int k = 0; k < V; ++k) {
        for (int i = 0; i < V; ++i) {
            for (int j = 0; j < V; ++j) {
                plain[i * V + j] = least(plain[i * V + j], plain[i * V + k] + plain[k * V + j]);
            }
        }
    }
    for (int i = 0; i < V; ++i) {
        for (int j = 0; j < V; ++j) {
            const int32_t got = d[((size_t)(i / B) * N + j / B) * CELLS + i % B * B + j % B];
            if (got != plain[i * V + j]) {
                fprintf(stderr, "apsp_cpu: from %d to %d it is %d, not %d\n", i, j, plain[i * V + j], got);
                exit(1);
            }
        }
    }
    free(d);
    free(plain);
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    const int v = argc > 1 ? atoi(argv[1]) : 2048, runs = argc > 2 ? atoi(argv[2]) : 10;
    if (v < 1 || v > 100000 || runs < 1 || runs > 1000) {
        fprintf(stderr, "usage: apsp_cpu [VERTICES (1 to 100000) [RUNS (1 to 1000)]]\n");
        return 2;
    }
    verify();
    const int n = (v + B - 1) / B;
    int32_t *d = room((size_t)n * n * CELLS);
    double *seconds = calloc(runs, sizeof *seconds), *sorted = calloc(runs, sizeof *sorted);
    for (int run = -1; run < runs; ++run) {
        fill(d, v, n);
        const double start = omp_get_wtime();
        solve(d, n);
        // The first is not counted.
        if (run >= 0) {
            sorted[run] = seconds[run] = omp_get_wtime() - start;
        }
    }
    qsort(sorted, runs, sizeof *sorted, ascending);
    const double median = (sorted[(runs - 1) / 2] + sorted[runs / 2]) / 2;
    printf("{\"program\": \"apsp_cpu.c\", \"compiler\": \"gcc %s\", \"vertices\": %d, \"threads\": %d, ", __VERSION__, v,
           omp_get_max_threads());
    printf("\"median_ms\": %.3f, \"min_ms\": %.3f, ", median * 1e3, sorted[0] * 1e3);
    printf("\"grelax_per_s\": %.3f, \"raw_ms\": [", (double)v * v * v / median / 1e9);
    for (int run = 0; run < runs; ++run) {
        printf("%s%.3f", run ? ", " : "", seconds[run] * 1e3);
    }
    puts("]}");
    free(seconds);
    free(sorted);
    free(d);
    return 0;
}
