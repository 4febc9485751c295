// What NVIDIA's libraries take for the work of the primer's ladders, to measure those beside.
//
//     nvcc -O3 -arch=sm_90 -o primer_peers primer_peers.cu -lcublas
//     ./primer_peers [--json FILE]
//
// What is here:
//
//   copy               cudaMemcpyAsync within the device's memory, 1 and 4 GiB; bytes read and bytes written
//   cub sum, min, max  cub::DeviceReduce of 2^20, 2^24 and 2^30 i32, f32 and f64; bytes read
//   cublas sgemm       C = A B of row-major f32. cuBLAS takes columns first, and what it then sees are the transposes; so it is
//                      asked for B^T A^T. CUBLAS_DEFAULT_MATH, which is its fastest within f32: TF32 is another setting, and
//                      nothing else lets an sgemm use tensor cores on this hardware. CUBLAS_PEDANTIC_MATH would hold it to f32
//                      as well, but is made for debugging and may be slower. That it is f32 shows in the results: the bound
//                      of the check is below what factors rounded to TF32 would leave.
//   cublas sgeam       the transpose of a row-major f32 matrix, which is what CUB has none of; bytes read and bytes written
//
// Everything is verified before it is timed. Copies and transposes: every element, exactly. Reductions: against the host's,
// exactly, but for sums of f32, which round. Products: nine rows against the host's in f64. Times are those between two events
// around a call, kernels and the gaps between them, after 5 calls that are not counted; 30 calls, or as many as begin within
// 2 s, but 3 at least. Small data come in as many sets as fill twice the second-level cache, 64 at most, and the calls go
// round them.

#include <cub/cub.cuh>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        const cudaError_t error_ = (call);                                                                             \
        if (error_ != cudaSuccess) {                                                                                   \
            std::fprintf(stderr, "primer_peers: %s: %s (line %d)\n", #call, cudaGetErrorString(error_), __LINE__);     \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

#define CHECK_BLAS(call)                                                                                               \
    do {                                                                                                               \
        const cublasStatus_t status_ = (call);                                                                         \
        if (status_ != CUBLAS_STATUS_SUCCESS) {                                                                        \
            std::fprintf(stderr, "primer_peers: %s: %s (line %d)\n", #call, cublasGetStatusString(status_), __LINE__); \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

// ------------------------------------------------------------------------------------------------------------ the data

// A random word for every place: the finaliser of MurmurHash3 over a counter.
std::uint64_t random_word(std::uint64_t seed, std::size_t at) {
    std::uint64_t x = seed * 0x9e3779b97f4a7c15u + at;
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

// A multiple of 2^-23 from -1 to 1.
float random_real(std::uint64_t seed, std::size_t at) {
    return static_cast<float>(static_cast<int>(random_word(seed, at) >> 40) - (1 << 23)) / (1 << 23);
}

// `body(begin, end)` over the parts of 0..count, one for each of the host's cores.
template <typename Body>
void in_parallel(std::size_t count, Body body) {
    const std::size_t parts = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t part = (count + parts - 1) / parts;
    std::vector<std::thread> threads;
    for (std::size_t begin = 0; begin < count; begin += part) {
        threads.emplace_back(body, begin, std::min(begin + part, count));
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

// Device memory. It begins as NaNs, or as -1: what a call does not write does not pass for a result.
class Buffer {
  public:
    explicit Buffer(std::size_t bytes) : bytes_(bytes) {
        CHECK(cudaMalloc(&at_, bytes));
        CHECK(cudaMemset(at_, 0xFF, bytes));
    }
    Buffer(Buffer &&other) noexcept : at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_) {}
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    Buffer &operator=(Buffer &&) = delete;
    ~Buffer() { CHECK(cudaFree(at_)); }

    template <typename T>
    T *of() const {
        return static_cast<T *>(at_);
    }
    std::size_t bytes() const { return bytes_; }

    void take(const Buffer &other) const { CHECK(cudaMemcpy(at_, other.at_, bytes_, cudaMemcpyDeviceToDevice)); }

    // Fills it with `count` values of `value(at)`, by way of a piece of host memory.
    template <typename T, typename Value>
    void fill(std::size_t count, Value value) const {
        std::vector<T> piece(std::min(count, PIECE));
        for (std::size_t from = 0; from < count; from += PIECE) {
            const std::size_t length = std::min(PIECE, count - from);
            in_parallel(length, [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) {
                    piece[i] = value(from + i);
                }
            });
            CHECK(cudaMemcpy(of<T>() + from, piece.data(), length * sizeof(T), cudaMemcpyHostToDevice));
        }
    }

    // Stops the program unless it holds `count` values of `value(at)`.
    template <typename T, typename Value>
    void expect(const char *what, std::size_t count, Value value) const {
        std::vector<T> piece(std::min(count, PIECE));
        std::atomic<std::size_t> wrong{count};
        for (std::size_t from = 0; from < count; from += PIECE) {
            const std::size_t length = std::min(PIECE, count - from);
            CHECK(cudaMemcpy(piece.data(), of<T>() + from, length * sizeof(T), cudaMemcpyDeviceToHost));
            in_parallel(length, [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) {
                    if (!(piece[i] == value(from + i))) {
                        wrong = from + i;
                        return;
                    }
                }
            });
            if (wrong < count) {
                const double got = static_cast<double>(piece[wrong - from]);
                std::fprintf(stderr, "primer_peers: %s: element %zu of %zu is %.17g and should be %.17g\n", what,
                             wrong.load(), count, got, static_cast<double>(value(wrong)));
                std::exit(1);
            }
        }
    }

  private:
    static constexpr std::size_t PIECE = std::size_t{1} << 25;

    void *at_ = nullptr;
    std::size_t bytes_;
};

// ------------------------------------------------------------------------------------------------------------- the time

struct Result {
    std::string peer, elements, size;
    // What `amount` counts: "bytes" or "flops".
    const char *unit;
    double amount;
    int copies;
    std::string verified;
    std::vector<float> milliseconds = {};

    float at(double share) const {
        std::vector<float> sorted = milliseconds;
        std::sort(sorted.begin(), sorted.end());
        return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
    }
    double per_second() const { return amount / at(0.5) * 1e3; }
};

int attribute(cudaDeviceAttr attribute) {
    int device = 0, value = 0;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&value, attribute, device));
    return value;
}

// As many sets of buffers of `bytes` each as fill twice the second-level cache, so that a call finds nothing of an earlier one
// there.
int copies_for(std::size_t bytes) {
    const std::size_t spread = 2 * static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize));
    std::size_t unused = 0, all = 0;
    CHECK(cudaMemGetInfo(&unused, &all));
    const std::size_t wanted = std::clamp<std::size_t>((spread + bytes - 1) / bytes, 1, 64);
    return static_cast<int>(std::min(wanted, std::max<std::size_t>(unused / bytes, 1)));
}

// The times of `call(i)`, where i goes round the sets of buffers; milliseconds.
template <typename Call>
std::vector<float> repeat(int copies, Call call) {
    constexpr int WARMUP = 5, LEAST = 3, MOST = 30;
    constexpr std::chrono::seconds ENOUGH{2};
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    auto begin = std::chrono::steady_clock::now();
    for (int run = 0; run < WARMUP + MOST; ++run) {
        if (run == WARMUP) {
            begin = std::chrono::steady_clock::now();
        }
        if (run >= WARMUP + LEAST && std::chrono::steady_clock::now() - begin > ENOUGH) {
            break;
        }
        CHECK(cudaEventRecord(start));
        call((run + 1) % copies);
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float milliseconds = 0.0f;
        CHECK(cudaEventElapsedTime(&milliseconds, start, end));
        if (run >= WARMUP) {
            times.push_back(milliseconds);
        }
    }
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(end));
    return times;
}

// The first set of buffers, and copies of it.
std::vector<Buffer> copies_of(Buffer first, int copies) {
    std::vector<Buffer> all;
    all.reserve(copies);
    all.push_back(std::move(first));
    for (int i = 1; i < copies; ++i) {
        all.emplace_back(all[0].bytes());
        all[i].take(all[0]);
    }
    return all;
}

std::vector<Buffer> buffers(std::size_t bytes, int count) {
    std::vector<Buffer> all;
    all.reserve(count);
    for (int i = 0; i < count; ++i) {
        all.emplace_back(bytes);
    }
    return all;
}

// ----------------------------------------------------------------------------------------------------------------- copy

Result copy(std::size_t gib) {
    const std::size_t bytes = gib << 30;
    const auto word = [](std::size_t at) { return random_word(1, at); };
    const Buffer from(bytes), to(bytes);
    from.fill<std::uint64_t>(bytes / sizeof(std::uint64_t), word);
    const auto call = [&](int) {
        CHECK(cudaMemcpyAsync(to.of<void>(), from.of<void>(), bytes, cudaMemcpyDeviceToDevice));
    };
    call(0);
    to.expect<std::uint64_t>("copy", bytes / sizeof(std::uint64_t), word);

    Result result{"copy", "u8", std::to_string(bytes), "bytes", 2.0 * static_cast<double>(bytes), 1, "every element, exactly"};
    result.milliseconds = repeat(1, call);
    return result;
}

// ------------------------------------------------------------------------------------------------------------ reduction

enum class Operation { SUM, MIN, MAX };

// Numbers whose sums the host knows exactly: whole multiples of UNIT, of BITS random bits, of either sign. 2^30 of i32 add up to
// far less than an i32 holds; those of f64 cannot reach 2^53 units, so that f64 is exact in whatever order. The largest and
// the smallest are twice as far out, and there is one of each, at the first and at the last place.
template <typename T>
struct Numbers {
    static constexpr bool WHOLE = std::is_integral<T>::value;
    static constexpr int BITS = WHOLE ? 12 : 24;
    static constexpr double UNIT = WHOLE ? 1.0 : 1.0 / (1 << (BITS - 1));

    std::size_t count;

    std::int64_t units(std::size_t at) const {
        if (at == 0 || at == count - 1) {
            return at == 0 ? 1 << BITS : -(1 << BITS);
        }
        return static_cast<std::int64_t>(random_word(2, at) >> (64 - BITS)) - (1 << (BITS - 1));
    }
    T operator()(std::size_t at) const { return static_cast<T>(static_cast<double>(units(at)) * UNIT); }
};

template <typename T>
cudaError_t reduce(Operation operation, void *scratch, std::size_t &scratch_bytes, const T *in, T *out, int count) {
    switch (operation) {
        case Operation::SUM:
            return cub::DeviceReduce::Sum(scratch, scratch_bytes, in, out, count);
        case Operation::MIN:
            return cub::DeviceReduce::Min(scratch, scratch_bytes, in, out, count);
        case Operation::MAX:
            return cub::DeviceReduce::Max(scratch, scratch_bytes, in, out, count);
    }
    return cudaErrorInvalidValue;
}

// All three operations over `count` numbers.
template <typename T>
void reductions(const char *elements, int count, std::vector<Result> &results) {
    const Numbers<T> numbers{static_cast<std::size_t>(count)};
    std::atomic<std::int64_t> sum{0}, magnitudes{0};
    in_parallel(numbers.count, [&](std::size_t begin, std::size_t end) {
        std::int64_t part = 0, part_magnitudes = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const std::int64_t units = numbers.units(i);
            part += units;
            part_magnitudes += std::abs(units);
        }
        sum += part;
        magnitudes += part_magnitudes;
    });
    const std::size_t bytes = numbers.count * sizeof(T);
    const int copies = copies_for(bytes);
    Buffer first(bytes);
    first.fill<T>(numbers.count, numbers);
    const std::vector<Buffer> in = copies_of(std::move(first), copies);
    const std::vector<Buffer> out = buffers(sizeof(T), copies);

    for (const Operation operation : {Operation::SUM, Operation::MIN, Operation::MAX}) {
        const bool is_sum = operation == Operation::SUM;
        const char *peer = is_sum ? "cub sum" : operation == Operation::MIN ? "cub min" : "cub max";
        std::size_t scratch_bytes = 0;
        CHECK(reduce<T>(operation, nullptr, scratch_bytes, in[0].of<T>(), out[0].of<T>(), count));
        const Buffer scratch(std::max<std::size_t>(scratch_bytes, 1));
        const auto call = [&](int i) {
            CHECK(reduce<T>(operation, scratch.of<void>(), scratch_bytes, in[i].of<T>(), out[i].of<T>(), count));
        };
        call(0);
        T got;
        CHECK(cudaMemcpy(&got, out[0].of<T>(), sizeof(T), cudaMemcpyDeviceToHost));
        const double want = is_sum ? static_cast<double>(sum) * Numbers<T>::UNIT
                                   : static_cast<double>(numbers(operation == Operation::MAX ? 0 : numbers.count - 1));
        // An f32 sum rounds. The numbers have either sign, partial sums stay small, and 1e-8 of the magnitudes is plenty; a block
        // of numbers that is left out shows.
        const bool rounds = is_sum && std::is_same<T, float>::value;
        const double bound = rounds ? 1e-8 * static_cast<double>(magnitudes) * Numbers<T>::UNIT : 0.0;
        const double difference = std::fabs(static_cast<double>(got) - want);
        if (!(difference <= bound)) {
            std::fprintf(stderr, "primer_peers: %s of %d %s is %.17g and should be %.17g, to %.3g\n", peer, count, elements,
                         static_cast<double>(got), want, bound);
            std::exit(1);
        }
        char verified[96] = "exactly";
        if (rounds) {
            std::snprintf(verified, sizeof verified, "differs by %.1e of at most %.1e", difference, bound);
        }
        Result result{peer, elements, std::to_string(count), "bytes", static_cast<double>(bytes), copies, verified};
        result.milliseconds = repeat(copies, call);
        results.push_back(result);
    }
}

// ------------------------------------------------------------------------------------------------------ matrix multiply

// C = A B with `m` x `k` times `k` x `n` numbers, row-major.
Result sgemm(cublasHandle_t blas, int m, int n, int k) {
    const std::size_t a_count = static_cast<std::size_t>(m) * k, b_count = static_cast<std::size_t>(k) * n;
    const std::size_t c_count = static_cast<std::size_t>(m) * n;
    const int copies = copies_for((a_count + b_count + c_count) * sizeof(float));
    Buffer first_a(a_count * sizeof(float)), first_b(b_count * sizeof(float));
    first_a.fill<float>(a_count, [](std::size_t at) { return random_real(3, at); });
    first_b.fill<float>(b_count, [](std::size_t at) { return random_real(4, at); });
    const std::vector<Buffer> a = copies_of(std::move(first_a), copies), b = copies_of(std::move(first_b), copies);
    const std::vector<Buffer> c = buffers(c_count * sizeof(float), copies);
    const float one = 1.0f, zero = 0.0f;
    const auto call = [&](int i) {
        CHECK_BLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b[i].of<float>(), n, a[i].of<float>(), k, &zero,
                               c[i].of<float>(), n));
    };
    call(0);

    // Eight random rows and the last one in f64, to 1e-6 of the sum of the products' magnitudes: several times what f32 leaves of
    // so many products of either sign, and a tenth and less of what factors rounded to TF32 would.
    const std::size_t width = static_cast<std::size_t>(n), depth = static_cast<std::size_t>(k);
    std::vector<float> got(c_count), right(b_count);
    CHECK(cudaMemcpy(got.data(), c[0].of<float>(), c_count * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(right.data(), b[0].of<float>(), b_count * sizeof(float), cudaMemcpyDeviceToHost));
    std::vector<double> products(width), magnitudes(width);
    double largest = 0.0;
    for (std::size_t which = 0; which < 9; ++which) {
        const std::size_t row = which < 8 ? random_word(5, which) % static_cast<std::size_t>(m) : static_cast<std::size_t>(m) - 1;
        in_parallel(width, [&](std::size_t begin, std::size_t end) {
            std::fill(products.begin() + begin, products.begin() + end, 0.0);
            std::fill(magnitudes.begin() + begin, magnitudes.begin() + end, 0.0);
            for (std::size_t i = 0; i < depth; ++i) {
                const double left = random_real(3, row * depth + i);
                for (std::size_t x = begin; x < end; ++x) {
                    const double product = left * right[i * width + x];
                    products[x] += product;
                    magnitudes[x] += std::fabs(product);
                }
            }
        });
        for (std::size_t x = 0; x < width; ++x) {
            const double difference = std::fabs(got[row * width + x] - products[x]) / magnitudes[x];
            // Written so that a NaN, which is also what an unwritten element holds, does not pass.
            if (!(difference <= 1e-6)) {
                std::fprintf(stderr,
                             "primer_peers: cublas sgemm, %dx%dx%d: row %zu, column %zu is %.9g and should be %.9g\n", m,
                             n, k, row, x, got[row * width + x], products[x]);
                std::exit(1);
            }
            largest = std::max(largest, difference);
        }
    }
    // Of the other rows, that all is written.
    if (!std::all_of(got.begin(), got.end(), [](float value) { return std::isfinite(value); })) {
        std::fprintf(stderr, "primer_peers: cublas sgemm, %dx%dx%d: an element is not written\n", m, n, k);
        std::exit(1);
    }

    char verified[96];
    std::snprintf(verified, sizeof verified, "9 rows differ by %.1e of at most 1e-6 of the magnitudes", largest);
    const std::string size = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
    Result result{"cublas sgemm", "f32", size, "flops", 2.0 * static_cast<double>(c_count) * k, copies, verified};
    result.milliseconds = repeat(copies, call);
    return result;
}

// ------------------------------------------------------------------------------------------------------------ transpose

Result transpose(cublasHandle_t blas, int rows, int cols) {
    const std::size_t count = static_cast<std::size_t>(rows) * cols, bytes = count * sizeof(float);
    const std::size_t height = static_cast<std::size_t>(rows), width = static_cast<std::size_t>(cols);
    const int copies = copies_for(2 * bytes);
    Buffer first(bytes);
    first.fill<float>(count, [](std::size_t at) { return random_real(6, at); });
    const std::vector<Buffer> in = copies_of(std::move(first), copies), out = buffers(bytes, copies);
    const float one = 1.0f, zero = 0.0f;
    // To cuBLAS the input has `cols` rows and the result `rows`. The second operand counts for nothing, and is the result itself,
    // which is allowed.
    const auto call = [&](int i) {
        const float *from = in[i].of<float>();
        float *to = out[i].of<float>();
        CHECK_BLAS(cublasSgeam(blas, CUBLAS_OP_T, CUBLAS_OP_N, rows, cols, &one, from, cols, &zero, to, rows, to, rows));
    };
    call(0);
    out[0].expect<float>("cublas sgeam", count,
                         [=](std::size_t at) { return random_real(6, at % height * width + at / height); });

    const std::string size = std::to_string(rows) + "x" + std::to_string(cols);
    Result result{"cublas sgeam", "f32", size, "bytes", 2.0 * static_cast<double>(bytes), copies, "every element, exactly"};
    result.milliseconds = repeat(copies, call);
    return result;
}

// ------------------------------------------------------------------------------------------------------------- the host

void write_json(const char *path, const char *gpu, int cublas, const std::vector<Result> &results) {
    std::FILE *file = std::fopen(path, "w");
    if (file == nullptr) {
        std::fprintf(stderr, "primer_peers: cannot write %s\n", path);
        std::exit(1);
    }
    int driver = 0, runtime = 0;
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    std::fprintf(file,
                 "{\n  \"schema\": 1,\n  \"what\": \"peers of the primer's ladders: device-to-device copies, CUB and cuBLAS, by "
                 "events; every result verified before it is timed\",\n  \"gpu\": \"%s\",\n  \"compute_capability\": \"%d.%d\",\n"
                 "  \"multiprocessors\": %d,\n  \"clock_khz\": %d,\n  \"memory_clock_khz\": %d,\n  \"l2_bytes\": %d,\n"
                 "  \"cuda_driver\": \"%d.%d\",\n  \"cuda_runtime\": \"%d.%d\",\n  \"nvcc\": \"%d.%d.%d\",\n"
                 "  \"cub\": \"%d.%d.%d\",\n  \"cublas\": \"%d\",\n  \"cublas_math_mode\": \"CUBLAS_DEFAULT_MATH\",\n"
                 "  \"warmup\": 5,\n  \"results\": [",
                 gpu, attribute(cudaDevAttrComputeCapabilityMajor), attribute(cudaDevAttrComputeCapabilityMinor),
                 attribute(cudaDevAttrMultiProcessorCount), attribute(cudaDevAttrClockRate),
                 attribute(cudaDevAttrMemoryClockRate), attribute(cudaDevAttrL2CacheSize), driver / 1000, driver % 1000 / 10,
                 runtime / 1000, runtime % 1000 / 10, __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__,
                 CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION, cublas);
    const char *between = "\n";
    for (const Result &result : results) {
        std::fprintf(file,
                     "%s    { \"peer\": \"%s\", \"elements\": \"%s\", \"size\": \"%s\", \"copies\": %d, \"unit\": \"%s\", "
                     "\"amount\": %.0f, \"per_second\": %.6e,\n      \"median_ms\": %.6f, \"min_ms\": %.6f, \"max_ms\": %.6f, "
                     "\"verified\": \"%s\",\n      \"raw_ms\": [",
                     between, result.peer.c_str(), result.elements.c_str(), result.size.c_str(), result.copies, result.unit,
                     result.amount, result.per_second(), result.at(0.5), result.at(0.0), result.at(1.0),
                     result.verified.c_str());
        for (std::size_t i = 0; i < result.milliseconds.size(); ++i) {
            std::fprintf(file, "%s%.6f", i == 0 ? "" : ", ", result.milliseconds[i]);
        }
        std::fprintf(file, "] }");
        between = ",\n";
    }
    std::fprintf(file, "\n  ]\n}\n");
    const bool failed = std::ferror(file) != 0;
    if (std::fclose(file) != 0 || failed) {
        std::fprintf(stderr, "primer_peers: cannot write %s\n", path);
        std::exit(1);
    }
}

int main(int argc, char **argv) {
    const char *json = nullptr;
    for (int i = 1; i < argc; ++i) {
        if (std::string(argv[i]) != "--json" || i + 1 == argc) {
            std::fprintf(stderr, "primer_peers: there is no such option, or its value is missing\n"
                                 "usage: primer_peers [--json FILE]\n");
            return 2;
        }
        json = argv[++i];
    }
    // With either, cuBLAS may compute otherwise than its calls say.
    unsetenv("NVIDIA_TF32_OVERRIDE");
    unsetenv("CUBLAS_EMULATE_SINGLE_PRECISION");

    CHECK(cudaSetDevice(0));
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    cublasHandle_t blas;
    CHECK_BLAS(cublasCreate(&blas));
    CHECK_BLAS(cublasSetMathMode(blas, CUBLAS_DEFAULT_MATH));
    int cublas = 0;
    CHECK_BLAS(cublasGetVersion(blas, &cublas));

    std::vector<Result> results;
    std::size_t printed = 0;
    // The ceiling: the larger copy, which comes before what is compared with it.
    double ceiling = 0.0;
    const auto print = [&] {
        for (; printed < results.size(); ++printed) {
            const Result &result = results[printed];
            const bool bytes = std::string(result.unit) == "bytes";
            char share[16] = "";
            if (bytes && ceiling > 0.0) {
                std::snprintf(share, sizeof share, "%.1f%%", 100.0 * result.per_second() / ceiling);
            }
            std::printf("%-13s %-8s %15s %6d %10.4f %10.4f %10.4f %9.1f %-8s %8s  %s\n", result.peer.c_str(),
                        result.elements.c_str(), result.size.c_str(), result.copies, result.at(0.5), result.at(0.0),
                        result.at(1.0), result.per_second() / 1e9, bytes ? "GB/s" : "GFLOP/s", share,
                        result.verified.c_str());
        }
        std::fflush(stdout);
    };
    std::printf("%s, cuBLAS %d, CUB %d.%d.%d\n", properties.name, cublas, CUB_MAJOR_VERSION, CUB_MINOR_VERSION,
                CUB_SUBMINOR_VERSION);
    std::printf("%-13s %-8s %15s %6s %10s %10s %10s %9s %-8s %8s  %s\n", "peer", "elements", "size", "sets", "median ms",
                "min ms", "max ms", "rate", "", "of copy", "verified");
    for (const std::size_t gib : {1, 4}) {
        results.push_back(copy(gib));
        ceiling = results.back().per_second();
        print();
    }
    for (const int count : {1 << 20, 1 << 24, 1 << 30}) {
        reductions<std::int32_t>("i32", count, results);
        reductions<float>("f32", count, results);
        reductions<double>("f64", count, results);
        print();
    }
    for (const int side : {4096, 16384}) {
        results.push_back(transpose(blas, side, side));
        print();
    }
    for (const int side : {1024, 4096, 8192}) {
        results.push_back(sgemm(blas, side, side, side));
        print();
    }
    results.push_back(sgemm(blas, 1000, 1001, 1002));
    print();
    CHECK_BLAS(cublasDestroy(blas));
    if (json != nullptr) {
        write_json(json, properties.name, cublas, results);
    }
    return 0;
}
