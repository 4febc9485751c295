// Moving-window entropy in CUDA C++, to measure the Rust kernels beside: 5 x 5 windows of 16 levels, clipped at the border.
//
//     nvcc -O3 -arch=sm_90 -o entropy_peers entropy_peers.cu
//     ./entropy_peers [--runs N] [--json FILE] [SIZE | ROWSxCOLS]...        (400 2560 10240)
//
// What is here, one thread a cell in all of them:
//
//   v7_u8, v7_f32   the twin of lab/kernels/src/ladder/a/v7.rs, step by step, with cells of u8 or of f32 (as its report had them):
//                   blocks of 512 along a row, 16 x 512 i8 counters in shared memory, a column for each thread, a table of 26
//                   f32 logarithms of the thread's own, sums in f64. (In the PTX of both languages every thread writes the
//                   table to local memory. ptxas 13.5 sees through both and selects among the constants instead.)
//   hecbench_like   after the idea of HeCBench's entropy-cuda: blocks of 16 x 16, i32 counters in shared memory, a column for
//                   each thread, a table of n ln n in shared memory, everything in f32
//
// All compute H = (N ln N - sum of n ln n) / N in nats, with N right at all four borders, and write f32.
//
// Every kernel is verified before it is timed: no cell unwritten, and against the definition in f64 to 1e-5; all cells of a
// small grid, the border and nine patches of a large one. Times are those between two events around a launch, after 5
// launches that are not counted. Small grids come in as many copies as it takes to fill the second-level cache several times, and the
// launches go round them. The ceiling, a copy from device memory to device memory, is measured in the same run.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                                         \
    do {                                                                                                    \
        const cudaError_t error_ = (call);                                                                  \
        if (error_ != cudaSuccess) {                                                                        \
            std::fprintf(stderr, "entropy_peers: %s: %s (line %d)\n", #call, cudaGetErrorString(error_),    \
                         __LINE__);                                                                         \
            std::exit(1);                                                                                   \
        }                                                                                                   \
    } while (0)

constexpr int LEVELS = 16;
constexpr int RADIUS = 2;
// ln 0 (set to 0) to ln 25, rounded to f32.
#define LOGARITHMS                                                                                           \
    {                                                                                                        \
        0.0f, 0.0f, 0.6931471805599453f, 1.0986122886681098f, 1.3862943611198906f, 1.6094379124341003f,      \
            1.791759469228055f, 1.9459101490553132f, 2.0794415416798357f, 2.1972245773362196f,               \
            2.302585092994046f, 2.3978952727983707f, 2.4849066497880004f, 2.5649493574615367f,               \
            2.6390573296152584f, 2.70805020110221f, 2.772588722239781f, 2.833213344056216f,                  \
            2.8903717578961645f, 2.9444389791664403f, 2.995732273553991f, 3.044522437723423f,                \
            3.091042453358316f, 3.1354942159291497f, 3.1780538303479458f, 3.2188758248682006f                \
    }
constexpr int LOGS = 26;

// ---------------------------------------------------------------------------------------------------------------- v7

constexpr unsigned V7_THREADS = 512;

template <typename Cell>
__global__ void __launch_bounds__(V7_THREADS)
    v7(const Cell *__restrict__ cells, float *__restrict__ out, unsigned rows, unsigned cols) {
    __shared__ signed char counters[LEVELS * V7_THREADS];
    const unsigned x = blockIdx.x * V7_THREADS + threadIdx.x;
    const unsigned y = blockIdx.y;
    if (x >= cols || y >= rows) {
        return;
    }
    float table[LOGS] = LOGARITHMS;
    const unsigned top = y >= RADIUS ? y - RADIUS : 0, bottom = min(y + RADIUS + 1, rows);
    const unsigned left = x >= RADIUS ? x - RADIUS : 0, right = min(x + RADIUS + 1, cols);
    const unsigned counted = (bottom - top) * (right - left);
    for (unsigned level = 0; level < LEVELS; ++level) {
        counters[level * V7_THREADS + threadIdx.x] = 0;
    }
    for (unsigned wy = top; wy < bottom; ++wy) {
        for (unsigned wx = left; wx < right; ++wx) {
            const unsigned level = static_cast<unsigned>(cells[static_cast<std::size_t>(wy) * cols + wx]);
            ++counters[level * V7_THREADS + threadIdx.x];
        }
    }
    // The product in f32, the sum in f64.
    double sum = 0.0;
    for (unsigned level = 0; level < LEVELS; ++level) {
        const int n = counters[level * V7_THREADS + threadIdx.x];
        sum += static_cast<double>(static_cast<float>(n) * table[n]);
    }
    const double total = static_cast<double>(static_cast<float>(counted) * table[counted]);
    const double h = fmax((total - sum) / static_cast<double>(counted), 0.0);
    out[static_cast<std::size_t>(y) * cols + x] = static_cast<float>(h);
}

// ----------------------------------------------------------------------------------------------------- HeCBench's idea

constexpr unsigned TILE = 16;

__global__ void __launch_bounds__(TILE *TILE)
    hecbench_like(const unsigned char *__restrict__ cells, float *__restrict__ out, unsigned rows, unsigned cols) {
    __shared__ int counters[LEVELS][TILE * TILE];
    __shared__ float n_ln_n[LOGS];
    const unsigned thread = threadIdx.y * TILE + threadIdx.x;
    for (int level = 0; level < LEVELS; ++level) {
        counters[level][thread] = 0;
    }
    if (thread < LOGS) {
        n_ln_n[thread] = thread == 0 ? 0.0f : static_cast<float>(thread) * logf(static_cast<float>(thread));
    }
    __syncthreads();
    const int x = static_cast<int>(blockIdx.x * TILE + threadIdx.x), y = static_cast<int>(blockIdx.y * TILE + threadIdx.y);
    const int width = static_cast<int>(cols), height = static_cast<int>(rows);
    if (x >= width || y >= height) {
        return;
    }
    int counted = 0;
#pragma unroll
    for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
#pragma unroll
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            const int wy = y + dy, wx = x + dx;
            if (wy >= 0 && wy < height && wx >= 0 && wx < width) {
                ++counters[cells[static_cast<std::size_t>(wy) * cols + wx]][thread];
                ++counted;
            }
        }
    }
    float sum = 0.0f;
#pragma unroll
    for (int level = 0; level < LEVELS; ++level) {
        sum += n_ln_n[counters[level][thread]];
    }
    out[static_cast<std::size_t>(y) * cols + x] = fmaxf((n_ln_n[counted] - sum) / static_cast<float>(counted), 0.0f);
}

// ------------------------------------------------------------------------------------------------------------ the host

struct Shape {
    unsigned rows, cols;
    std::size_t cells() const { return static_cast<std::size_t>(rows) * cols; }
};

// The cells of tests/src/cases.rs `random`: SplitMix64 from a seed that the shape decides.
std::vector<unsigned char> random_cells(Shape shape) {
    std::uint64_t state = std::uint64_t{shape.rows} * 1000003 + std::uint64_t{shape.cols} * 97 + LEVELS;
    std::vector<unsigned char> cells(shape.cells());
    for (unsigned char &cell : cells) {
        state += 0x9E3779B97F4A7C15u;
        std::uint64_t z = state;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        cell = static_cast<unsigned char>((z ^ (z >> 31)) % LEVELS);
    }
    return cells;
}

// The definition, in f64.
double entropy_of(const std::vector<unsigned char> &cells, Shape shape, unsigned y, unsigned x) {
    int counts[LEVELS] = {}, counted = 0;
    const unsigned top = y >= RADIUS ? y - RADIUS : 0, bottom = std::min(y + RADIUS + 1, shape.rows);
    const unsigned left = x >= RADIUS ? x - RADIUS : 0, right = std::min(x + RADIUS + 1, shape.cols);
    for (unsigned wy = top; wy < bottom; ++wy) {
        for (unsigned wx = left; wx < right; ++wx) {
            ++counts[cells[static_cast<std::size_t>(wy) * shape.cols + wx]];
            ++counted;
        }
    }
    double h = 0.0;
    for (const int count : counts) {
        if (count > 0) {
            const double p = static_cast<double>(count) / counted;
            h -= p * std::log(p);
        }
    }
    return h;
}

// Whether a cell of a large grid is looked at: the border, its corners with all clipped windows, and nine patches.
bool looked_at(Shape shape, unsigned y, unsigned x) {
    if (shape.cells() <= 1u << 20) {
        return true;
    }
    const unsigned edge = RADIUS + 1;
    if (y < edge || x < edge || y + edge >= shape.rows || x + edge >= shape.cols) {
        return true;
    }
    const auto in_patch = [](unsigned at, unsigned length) {
        const unsigned patch = 96;
        const unsigned middle = length > patch ? (length - patch) / 2 : 0;
        return at < patch || at + patch >= length || (at >= middle && at < middle + patch);
    };
    return in_patch(y, shape.rows) && in_patch(x, shape.cols);
}

// Stops the program unless the result is right; returns the largest difference.
double verify(const char *name, const std::vector<unsigned char> &cells, const std::vector<float> &out, Shape shape) {
    double largest = 0.0;
    for (unsigned y = 0; y < shape.rows; ++y) {
        for (unsigned x = 0; x < shape.cols; ++x) {
            const double got = out[static_cast<std::size_t>(y) * shape.cols + x];
            // Written so that a NaN, which is also what an unwritten cell holds, does not pass.
            bool right = got >= 0.0 && got <= 2.8;
            if (right && looked_at(shape, y, x)) {
                const double difference = std::fabs(got - entropy_of(cells, shape, y, x));
                largest = std::max(largest, difference);
                right = difference <= 1e-5;
            }
            if (!right) {
                std::fprintf(stderr, "entropy_peers: %s, %u x %u: row %u, column %u is %.9g and should be %.9g\n", name,
                             shape.rows, shape.cols, y, x, got, entropy_of(cells, shape, y, x));
                std::exit(1);
            }
        }
    }
    return largest;
}

// Events around what `work` puts on the stream; milliseconds.
template <typename Work>
float timed(cudaEvent_t start, cudaEvent_t end, Work work) {
    CHECK(cudaEventRecord(start));
    work();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float milliseconds = 0.0f;
    CHECK(cudaEventElapsedTime(&milliseconds, start, end));
    return milliseconds;
}

// Bytes read and written a second by a copy within the device's memory: the best of several of 1 GiB.
double copy_bandwidth(cudaEvent_t start, cudaEvent_t end) {
    std::size_t free_bytes = 0, all = 0;
    CHECK(cudaMemGetInfo(&free_bytes, &all));
    const std::size_t bytes = std::min<std::size_t>(free_bytes / 8, std::size_t{1} << 30);
    void *from = nullptr, *to = nullptr;
    CHECK(cudaMalloc(&from, bytes));
    CHECK(cudaMalloc(&to, bytes));
    CHECK(cudaMemset(from, 1, bytes));
    float best = INFINITY;
    for (int i = 0; i < 12; ++i) {
        best = std::min(best, timed(start, end, [&] { CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice)); }));
    }
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    return 2.0 * static_cast<double>(bytes) / best * 1e3;
}

enum class Peer { V7_U8, V7_F32, HECBENCH_LIKE };

struct Named {
    Peer peer;
    const char *name;
    std::size_t cell_bytes;
};

const Named PEERS[] = {
    {Peer::V7_U8, "v7_u8", 1},
    {Peer::V7_F32, "v7_f32", 4},
    {Peer::HECBENCH_LIKE, "hecbench_like", 1},
};

void launch(Peer peer, const void *cells, float *out, Shape shape) {
    const dim3 rows_of_512((shape.cols + V7_THREADS - 1) / V7_THREADS, shape.rows);
    const dim3 tiles((shape.cols + TILE - 1) / TILE, (shape.rows + TILE - 1) / TILE);
    const auto *u8 = static_cast<const unsigned char *>(cells);
    const auto *f32 = static_cast<const float *>(cells);
    switch (peer) {
        case Peer::V7_U8:
            v7<unsigned char><<<rows_of_512, V7_THREADS>>>(u8, out, shape.rows, shape.cols);
            break;
        case Peer::V7_F32:
            v7<float><<<rows_of_512, V7_THREADS>>>(f32, out, shape.rows, shape.cols);
            break;
        case Peer::HECBENCH_LIKE:
            hecbench_like<<<tiles, dim3(TILE, TILE)>>>(u8, out, shape.rows, shape.cols);
            break;
    }
    CHECK(cudaGetLastError());
}

struct Result {
    const char *name;
    Shape shape;
    int copies;
    double largest_difference;
    std::vector<float> milliseconds;

    float at(double share) const {
        std::vector<float> sorted = milliseconds;
        std::sort(sorted.begin(), sorted.end());
        return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
    }
};

Result measure(const Named &peer, Shape shape, const std::vector<unsigned char> &cells, int runs, std::size_t cache,
               cudaEvent_t start, cudaEvent_t end) {
    const std::size_t in_bytes = shape.cells() * peer.cell_bytes, out_bytes = shape.cells() * sizeof(float);
    // As many copies as make four times the second-level cache, so that a launch finds nothing of an earlier one there.
    const std::size_t wanted = (4 * cache + in_bytes + out_bytes - 1) / (in_bytes + out_bytes);
    const int copies = static_cast<int>(std::min<std::size_t>(std::max<std::size_t>(wanted, 1), 1024));
    std::vector<float> reals;
    const void *source = cells.data();
    if (peer.cell_bytes == sizeof(float)) {
        reals.assign(cells.begin(), cells.end());
        source = reals.data();
    }
    std::vector<void *> in(copies, nullptr);
    std::vector<float *> out(copies, nullptr);
    for (int i = 0; i < copies; ++i) {
        CHECK(cudaMalloc(&in[i], in_bytes));
        CHECK(cudaMalloc(reinterpret_cast<void **>(&out[i]), out_bytes));
        CHECK(cudaMemcpy(in[i], source, in_bytes, cudaMemcpyHostToDevice));
        // Every byte of a NaN.
        CHECK(cudaMemset(out[i], 0xFF, out_bytes));
    }

    Result result{peer.name, shape, copies, 0.0, {}};
    std::vector<float> got(shape.cells());
    launch(peer.peer, in[0], out[0], shape);
    CHECK(cudaMemcpy(got.data(), out[0], out_bytes, cudaMemcpyDeviceToHost));
    result.largest_difference = verify(peer.name, cells, got, shape);

    const int warm_up = 5;
    for (int run = 0; run < warm_up + runs; ++run) {
        const int i = (run + 1) % copies;
        const float milliseconds = timed(start, end, [&] { launch(peer.peer, in[i], out[i], shape); });
        if (run >= warm_up) {
            result.milliseconds.push_back(milliseconds);
        }
    }
    for (int i = 0; i < copies; ++i) {
        CHECK(cudaFree(in[i]));
        CHECK(cudaFree(out[i]));
    }
    return result;
}

int attribute(cudaDeviceAttr attribute, int device) {
    int value = 0;
    CHECK(cudaDeviceGetAttribute(&value, attribute, device));
    return value;
}

void write_json(const char *path, const char *gpu, int device, double copy, int runs, const std::vector<Result> &results) {
    std::FILE *file = std::fopen(path, "w");
    if (file == nullptr) {
        std::fprintf(stderr, "entropy_peers: cannot write %s\n", path);
        std::exit(1);
    }
    int driver = 0, runtime = 0;
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    std::fprintf(file,
                 "{\n  \"schema\": 1,\n  \"what\": \"CUDA C++ peers, kernels alone, by events; every kernel verified before it is "
                 "timed\",\n  \"gpu\": \"%s\",\n  \"compute_capability\": \"%d.%d\",\n  \"multiprocessors\": %d,\n"
                 "  \"clock_khz\": %d,\n  \"memory_clock_khz\": %d,\n  \"l2_bytes\": %d,\n  \"cuda_driver\": \"%d.%d\",\n"
                 "  \"cuda_runtime\": \"%d.%d\",\n  \"nvcc\": \"%d.%d.%d\",\n  \"warmup\": 5,\n  \"runs\": %d,\n"
                 "  \"copy_gb_per_s\": %.1f,\n  \"results\": [",
                 gpu, attribute(cudaDevAttrComputeCapabilityMajor, device),
                 attribute(cudaDevAttrComputeCapabilityMinor, device),
                 attribute(cudaDevAttrMultiProcessorCount, device), attribute(cudaDevAttrClockRate, device),
                 attribute(cudaDevAttrMemoryClockRate, device), attribute(cudaDevAttrL2CacheSize, device), driver / 1000,
                 driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__,
                 __CUDACC_VER_BUILD__, runs, copy / 1e9);
    const char *between = "\n";
    for (const Result &result : results) {
        std::fprintf(file,
                     "%s    { \"kernel\": \"%s\", \"rows\": %u, \"cols\": %u, \"copies\": %d, \"largest_difference\": %.3e, "
                     "\"median_ms\": %.6f, \"min_ms\": %.6f, \"max_ms\": %.6f,\n      \"raw_ms\": [",
                     between, result.name, result.shape.rows, result.shape.cols, result.copies,
                     result.largest_difference, result.at(0.5), result.at(0.0), result.at(1.0));
        for (std::size_t i = 0; i < result.milliseconds.size(); ++i) {
            std::fprintf(file, "%s%.6f", i == 0 ? "" : ", ", result.milliseconds[i]);
        }
        std::fprintf(file, "] }");
        between = ",\n";
    }
    std::fprintf(file, "\n  ]\n}\n");
    if (std::fclose(file) != 0) {
        std::fprintf(stderr, "entropy_peers: cannot write %s\n", path);
        std::exit(1);
    }
}

[[noreturn]] void usage(const char *why) {
    std::fprintf(stderr, "entropy_peers: %s\nusage: entropy_peers [--runs N] [--json FILE] [SIZE | ROWSxCOLS]...\n", why);
    std::exit(2);
}

Shape shape_of(const char *text) {
    unsigned rows = 0, cols = 0;
    char rest = 0;
    if (std::sscanf(text, "%ux%u%c", &rows, &cols, &rest) != 2) {
        if (std::sscanf(text, "%u%c", &rows, &rest) != 1) {
            usage("a size is a number or ROWSxCOLS");
        }
        cols = rows;
    }
    // A row of blocks for every row of cells, and a grid has no more along y.
    if (rows == 0 || rows > 65535 || cols == 0 || cols > 1u << 30) {
        usage("there can be 1 to 65535 rows and 1 to 2^30 columns");
    }
    return Shape{rows, cols};
}

int main(int argc, char **argv) {
    int runs = 30;
    const char *json = nullptr;
    std::vector<Shape> shapes;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--runs" && i + 1 < argc) {
            runs = std::atoi(argv[++i]);
            if (runs < 1) {
                usage("--runs takes a number of at least 1");
            }
        } else if (argument == "--json" && i + 1 < argc) {
            json = argv[++i];
        } else if (!argument.empty() && argument[0] == '-') {
            usage("there is no such option, or its value is missing");
        } else {
            shapes.push_back(shape_of(argv[i]));
        }
    }
    if (shapes.empty()) {
        shapes = {{400, 400}, {2560, 2560}, {10240, 10240}};
    }

    const int device = 0;
    CHECK(cudaSetDevice(device));
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, device));
    const std::size_t cache = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, device));
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    const double copy = copy_bandwidth(start, end);
    std::printf("%s, copy %.0f GB/s (bytes read + written)\n", properties.name, copy / 1e9);
    std::printf("%-14s %13s %10s %10s %10s %9s %8s %10s\n", "kernel", "cells", "median ms", "min ms", "max ms", "Gcell/s",
                "of copy", "difference");

    std::vector<Result> results;
    for (const Shape shape : shapes) {
        const std::vector<unsigned char> cells = random_cells(shape);
        for (const Named &peer : PEERS) {
            const Result result = measure(peer, shape, cells, runs, cache, start, end);
            const double rate = static_cast<double>(shape.cells()) / result.at(0.5) * 1e3;
            // Bytes that it cannot do without: a cell read once, a result written once.
            const double share = rate * static_cast<double>(peer.cell_bytes + sizeof(float)) / copy;
            const std::string size = std::to_string(shape.rows) + "x" + std::to_string(shape.cols);
            std::printf("%-14s %13s %10.4f %10.4f %10.4f %9.2f %7.2f%% %10.1e\n", result.name, size.c_str(),
                        result.at(0.5), result.at(0.0), result.at(1.0), rate / 1e9, share * 100.0,
                        result.largest_difference);
            results.push_back(result);
        }
    }
    if (json != nullptr) {
        write_json(json, properties.name, device, copy, runs, results);
    }
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(end));
    return 0;
}
